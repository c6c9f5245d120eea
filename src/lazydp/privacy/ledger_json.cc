#include "lazydp/privacy/ledger_json.h"

#include <string>

#include "lazydp/base/error.h"

namespace lazydp {

Json json_of(const Ledger& ledger) {
  Json json = Json::array();
  for (const SampledGaussian& event : ledger.events()) {
    json.push_back({{"sampling_rate", event.sampling_rate},
                    {"noise_multiplier", event.noise_multiplier},
                    {"steps", event.steps}});
  }
  return json;
}

Ledger ledger_from(const Json& json) {
  try {
    Ledger ledger;
    for (const Json& event : json) {
      ledger.record({event.at("sampling_rate").get<double>(),
                     event.at("noise_multiplier").get<double>(),
                     natural<std::uint64_t>(event.at("steps"))});
    }
    return ledger;
  } catch (const Json::exception& error) {
    throw IoError(std::string("the ledger cannot be read: ") + error.what());
  }
}

}  // namespace lazydp
