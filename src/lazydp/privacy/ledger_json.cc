#include "lazydp/privacy/ledger_json.h"

#include <string>
#include <vector>

#include "lazydp/base/error.h"

namespace lazydp {

namespace {

constexpr const char* kGaussian = "gaussian";
constexpr const char* kCorrelated = "correlated_gaussian";

Json json_of(const SampledGaussian& event) {
  return {{"sampling_rate", event.sampling_rate},
          {"noise_multiplier", event.noise_multiplier},
          {"steps", event.steps}};
}

Json json_of(const Gaussian& event) {
  return {{"mechanism", kGaussian},
          {"noise_multiplier", event.noise_multiplier},
          {"steps", event.steps}};
}

Json json_of(const CorrelatedGaussian& event) {
  return {{"mechanism", kCorrelated},
          {"noise_multiplier", event.noise_multiplier},
          {"bands", event.bands},
          {"sampling", block_sampling_name(event.sampling)},
          {"block_steps", event.allowed.steps},
          {"separation", event.allowed.separation},
          {"participations", event.allowed.times},
          {"after_step", event.after_step},
          {"disjoint", event.disjoint},
          {"steps", event.steps}};
}

CorrelatedGaussian block_from(const Json& json) {
  return {.bands = json.at("bands").get<std::vector<double>>(),
          .noise_multiplier = json.at("noise_multiplier").get<double>(),
          .allowed = {.steps = natural<std::uint64_t>(json.at("block_steps")),
                      .separation = natural<std::uint64_t>(json.at("separation")),
                      .times = natural<std::uint64_t>(json.at("participations"))},
          .sampling = block_sampling_from_name(json.at("sampling").get<std::string>()),
          .after_step = natural<std::uint64_t>(json.at("after_step")),
          .disjoint = json.at("disjoint").get<bool>(),
          .steps = natural<std::uint64_t>(json.at("steps"))};
}

// An event whose mechanism this program does not know is refused: leaving it out would claim less
// than was spent.
PrivacyEvent event_from(const Json& json) {
  const double noise = json.at("noise_multiplier").get<double>();
  const auto steps = natural<std::uint64_t>(json.at("steps"));
  if (!json.contains("mechanism")) {
    return SampledGaussian{json.at("sampling_rate").get<double>(), noise, steps};
  }
  const auto mechanism = json.at("mechanism").get<std::string>();
  if (mechanism == kCorrelated) return block_from(json);
  if (mechanism != kGaussian) throw IoError("the ledger has an unknown mechanism: " + mechanism);
  return Gaussian{noise, steps};
}

}  // namespace

Json json_of(const Ledger& ledger) {
  Json json = Json::array();
  for (const PrivacyEvent& event : ledger.events()) {
    const bool begins_run = ledger.begins_run(json.size());
    json.push_back(std::visit([](const auto& use) { return json_of(use); }, event));
    if (begins_run) json.back()["another_run"] = true;
  }
  return json;
}

Ledger ledger_from(const Json& json) {
  try {
    Ledger ledger;
    for (const Json& event : json) {
      if (event.value("another_run", false)) ledger.begin_run();
      ledger.record(event_from(event));
    }
    return ledger;
  } catch (const Json::exception& error) {
    throw IoError(std::string("the ledger cannot be read: ") + error.what());
  }
}

}  // namespace lazydp
