// lazydp verify: checks a released model against its card.

#include <iomanip>
#include <optional>
#include <ostream>
#include <string>

#include "lazydp/base/text/number_text.h"
#include "lazydp/base/version.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/verbs/scoring_input.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/release/card.h"

namespace lazydp::cli {
namespace {

void print(std::ostream& out, const std::string& folder, const Json& card,
           const std::optional<RecomputedClaim>& claim) {
  const auto row = [&out](const char* label, const std::string& value) {
    out << "  " << std::left << std::setw(16) << label << value << "\n";
  };
  const auto said = [&card](const char* pointer) {
    return card.value(Json::json_pointer(pointer), std::string());
  };
  out << folder << ": card and weights are as they were released\n";
  row("weights", "BLAKE2b-256 " + said("/weights/blake2b_256"));
  row("released by", said("/program"));
  row("claim", said("/claim/statement"));
  if (!claim) {
    row("because", said("/claim/reason"));
    return;
  }
  row("epsilon", shortest(claim->claimed) + "; the card's ledger costs " +
                     shortest(claim->recomputed) + " (" + said("/claim/accountant") +
                     ", recomputed by lazydp " + version() + ")");
  row("delta", shortest(card.at("claim").at("delta").get<double>()));
  if (card.at("claim").contains("confidence")) {
    row("confidence", shortest(card.at("claim").at("confidence").get<double>()) +
                          ": this epsilon was computed by sampling");
  }
  row("unit", said("/claim/unit"));
  row("mechanism", said("/claim/mechanism"));
  row("against", said("/claim/threat_model"));
  if (const std::string not_covered = said("/claim/not_covered"); !not_covered.empty()) {
    row("not covered", not_covered);
  }
  out << "Checked: the files and the arithmetic. That the model was trained as the card says, "
         "under "
         "a secret key, is\nthe word of its owner.\n";
}

}  // namespace

void verify(const FlagTexts& given) {
  const Output output(given);
  const std::string folder = folder_of_model(given.operands[0]);
  const Json card = verified_card(folder);
  const std::optional<RecomputedClaim> claim = recompute_claim(card);
  if (std::ostream* out = output.report()) print(*out, folder, card, claim);
  Json json = {{"claim", card.at("claim")}, {"weights", card.at("weights")}};
  if (claim) json["recomputed_epsilon"] = claim->recomputed;
  output.write(json);
}

}  // namespace lazydp::cli
