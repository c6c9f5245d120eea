// Recomputes what a card claims from the ledger on it.

#include <cstdint>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/ledger_json.h"
#include "lazydp/privacy/private_selection.h"
#include "lazydp/privacy/rdp.h"
#include "lazydp/release/card.h"

namespace lazydp {
namespace {

// Returns the least that a search costs whose best candidate has this ledger.
double search_cost(const Json& search, const Ledger& ledger, double delta) {
  const PrivateSearch counted = {
      .trials = {.eta = search.at("eta").get<double>(), .gamma = search.at("gamma").get<double>()},
      .candidates = natural<std::uint64_t>(search.at("candidates")),
      .training = rdp_curve(ledger),
      .score_noise = search.at("score_noise_multiplier").get<double>()};
  return search_epsilon(counted, delta);
}

RecomputedClaim recompute(const Json& card) {
  const Json& claim = card.at("claim");
  const Ledger ledger = ledger_from(card.at("ledger"));
  const double delta = claim.at("delta").get<double>();
  RecomputedClaim result{.claimed = claim.at("epsilon").get<double>()};
  result.recomputed =
      claim.contains("search")
          ? search_cost(claim["search"], ledger, delta)
          : epsilon(ledger, delta, accountant_from_name(claim.at("accountant").get<std::string>()));
  return result;
}

}  // namespace

std::optional<RecomputedClaim> recompute_claim(const Json& card) {
  constexpr double kRounding = 1e-6;  // relative: machines differ in the last digits
  try {
    if (!card.at("claim").contains("epsilon")) return std::nullopt;
    const RecomputedClaim result = recompute(card);
    if (!(result.recomputed <= result.claimed * (1.0 + kRounding))) {
      throw PrivacyError("the card claims epsilon " + shortest(result.claimed) +
                         ", but the steps on its ledger cost " + shortest(result.recomputed));
    }
    return result;
  } catch (const Json::exception& error) {
    throw UserError(std::string("the card's claim cannot be read: ") + error.what());
  }
}

}  // namespace lazydp
