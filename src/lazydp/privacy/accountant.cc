#include "lazydp/privacy/accountant.h"

#include <algorithm>
#include <optional>

#include "lazydp/base/error.h"
#include "lazydp/privacy/binomial.h"
#include "lazydp/privacy/bins/balls_in_bins.h"
#include "lazydp/privacy/composition.h"
#include "lazydp/privacy/pld/pld.h"
#include "lazydp/privacy/rdp.h"

namespace lazydp {

Accountant accountant_from_name(std::string_view name) {
  if (name == "rdp") return Accountant::rdp;
  require(name == "pld", "accountant", name, "rdp or pld");
  return Accountant::pld;
}

std::string_view accountant_name(Accountant accountant) {
  return accountant == Accountant::rdp ? "rdp" : "pld";
}

namespace {

double closed_or_pld_epsilon(const Ledger& ledger, double delta) {
  const std::optional<double> mu = exact_mu(ledger);
  return mu ? gaussian_epsilon(*mu, delta) : pld_epsilon(ledger, delta);
}

double closed_or_pld_delta(const Ledger& ledger, double epsilon) {
  const std::optional<double> mu = exact_mu(ledger);
  return mu ? gaussian_delta(*mu, epsilon) : pld_delta(ledger, epsilon);
}

// Adds up what the blocks with secret bins, and everything else, cost at equal shares of delta. The
// first steps of a block cost no more than all that it may have, and no more than with known bins.
double added_up(const Ledger& ledger, double delta, Effort effort) {
  const SecretBins apart = secret_bins(ledger);
  const std::size_t parts = apart.blocks.size() + (apart.rest.empty() ? 0 : 1);
  const double share = delta / static_cast<double>(parts);
  double total = apart.rest.empty() ? 0.0 : closed_or_pld_epsilon(apart.rest, share);
  for (const CorrelatedGaussian& block : apart.blocks) {
    const double known = gaussian_epsilon(1 / as_one_gaussian(block).noise_multiplier, share);
    total += std::min(known, balls_in_bins_epsilon(block, share, effort, parts));
  }
  return total;
}

double epsilon_of_one_example(const Ledger& ledger, double delta, Accountant accountant,
                              Effort effort) {
  if (accountant == Accountant::rdp) return rdp_epsilon(ledger, delta);
  if (!takes_sampling(ledger, accountant)) return closed_or_pld_epsilon(ledger, delta);
  return std::min(closed_or_pld_epsilon(with_known_bins(ledger), delta),
                  added_up(ledger, delta, effort));
}

double delta_of_one_example(const Ledger& ledger, double epsilon, Accountant accountant) {
  if (accountant == Accountant::rdp) return rdp_delta(ledger, epsilon);
  if (!takes_sampling(ledger, accountant)) return closed_or_pld_delta(ledger, epsilon);
  const double known = closed_or_pld_delta(with_known_bins(ledger), epsilon);
  const SecretBins apart = secret_bins(ledger);
  if (apart.blocks.size() != 1 || !apart.rest.empty()) return known;
  return std::min(known, balls_in_bins_delta(apart.blocks.front(), epsilon));
}

}  // namespace

double epsilon(const Ledger& ledger, double delta, Accountant accountant) {
  return epsilon_by(ledger, delta, accountant, Effort::proof);
}

double epsilon_by(const Ledger& ledger, double delta, Accountant accountant, Effort effort) {
  require(delta > 0 && delta < 1, "delta", delta, "above 0 and below 1, for example 1e-6");
  double worst = 0.0;
  for (const Ledger& one : ledgers_of_one_example(ledger)) {
    worst = std::max(worst, epsilon_of_one_example(one, delta, accountant, effort));
  }
  return worst;
}

double delta(const Ledger& ledger, double epsilon, Accountant accountant) {
  require(epsilon >= 0, "epsilon", epsilon, "0 or more, for example 1.0");
  double worst = 0.0;
  for (const Ledger& one : ledgers_of_one_example(ledger)) {
    worst = std::max(worst, delta_of_one_example(one, epsilon, accountant));
  }
  return worst;
}

bool takes_sampling(const Ledger& ledger, Accountant accountant) {
  return accountant != Accountant::rdp && std::ranges::any_of(ledger.events(), has_secret_bins);
}

}  // namespace lazydp
