#include "lazydp/train/initial_model.h"

#include <sstream>

#include "lazydp/privacy/ledger_json.h"

namespace lazydp {

Json json_of(const InitialModel& model) {
  Json json = {{"blake2b_256", model.blake2b}};
  if (model.declared_public) {
    json["privacy"] = "public";
    json["declared_by"] = "the user of the run that began with it";
  } else if (!model.no_claim.empty()) {
    json["privacy"] = "no claim";
    json["reason"] = model.no_claim;
  } else {
    json["privacy"] = "claimed";
    json["epsilon"] = model.epsilon;
    json["delta"] = model.delta;
    json["ledger"] = json_of(model.spent);
  }
  return json;
}

std::string in_words(const InitialModel& model) {
  if (model.declared_public) return "which is public, as the user declared";
  if (!model.no_claim.empty()) return "for which nothing is claimed: " + model.no_claim;
  std::ostringstream out;
  out << "which had spent epsilon " << model.epsilon << " at delta " << model.delta << " in "
      << model.spent.steps() << " steps: these count";
  return out.str();
}

}  // namespace lazydp
