#include "lazydp/train/plan_json.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/base/text/json.h"
#include "lazydp/data/samplers.h"
#include "lazydp/train/correlation_text.h"

namespace lazydp {

namespace {

// The names of the tensors that do not train, without "weight" and "bias".
Json json_of(const FrozenParts& frozen) {
  Json names = Json::array();
  for (const std::size_t k : frozen.tables) names.push_back("tables." + std::to_string(k));
  for (const std::string& layer : frozen.layers) names.push_back(layer);
  return names;
}

// JSON has no infinity.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json("infinite");
}

}  // namespace

Json json_of(const Plan& plan) {
  const Mechanism& m = plan.mechanism;
  Json json = {{"algorithm", plan.recipe.name},
               {"steps", plan.steps},
               {"sampling_rate", m.sampling_rate},
               {"expected_batch", m.expected_batch},
               {"clip_norm", number(m.clip_norm)},
               {"clip_schedule", plan.clip_schedule.text()},
               {"noise_multiplier", m.noise_multiplier},
               {"noise_schedule", plan.noise_schedule.text()},
               {"noise_draws", plan.normals_per_sample},
               {"table_rate", plan.table_rate},
               {"dense_rate", plan.dense_rate},
               {"rate_schedule", plan.rate_schedule.text()},
               {"weight_decay", plan.weight_decay},
               {"dense_optimizer", dense_rule_name(plan.dense_rule)},
               {"accountant", accountant_name(plan.accountant)}};
  if (plan.table_rule != TableRule::sgd) json["table_optimizer"] = table_rule_name(plan.table_rule);
  if (!plan.correlation.independent()) json["correlation"] = text_of(plan.correlation);
  if (plan.blocks) {
    const BlockRules& rules = *plan.blocks;
    Json& json_of_rules = json["participation"] = {{"separation", rules.separation}};
    if (rules.times != kAnyNumberOfTimes) json_of_rules["times"] = rules.times;
    if (rules.disjoint) json_of_rules["disjoint_data"] = true;
  }
  if (plan.positive_weight != 1.0) json["positive_weight"] = plan.positive_weight;
  if (plan.initial) json["initial_model"] = json_of(*plan.initial);
  if (plan.calibrates_scores) json["calibrates_scores"] = true;
  if (!plan.frozen.empty()) json["frozen"] = json_of(plan.frozen);
  if (plan.examples_per_unit != 1) {
    json["examples_per_unit"] =
        plan.examples_per_unit == kEveryExampleOfAUnit ? Json("all") : Json(plan.examples_per_unit);
  }
  if (plan.budget) {
    json["budget"] = {{"epsilon", plan.budget->epsilon}, {"delta", plan.budget->delta}};
  }
  return json;
}

Json json_of(const ModelShape& shape) {
  Json json = {{"name", shape.name},
               {"table_rows", shape.table_rows},
               {"dim", shape.dim},
               {"bottom", shape.bottom},
               {"top", shape.top},
               {"pooling", shape.pooling},
               {"pooling_mode", shape.mode == Pooling::sum ? "sum" : "mean"}};
  if (shape.interaction != Interaction::dot) {
    json["interaction"] = interaction_name(shape.interaction);
  }
  return json;
}

ModelShape shape_from(const Json& json) {
  const auto interaction = json.value("interaction", std::string("dot"));
  const auto* const known =
      std::ranges::find(kInteractions, interaction, [](const auto& named) { return named.first; });
  if (known == kInteractions.end()) {
    throw UserError("the model's interaction is '" + interaction +
                    "'; this version knows dot, cat+dot and linear+cat+dot");
  }
  return {.name = json.at("name").get<std::string>(),
          .table_rows = naturals<RowId>(json.at("table_rows")),
          .dim = natural<std::size_t>(json.at("dim")),
          .bottom = naturals<std::size_t>(json.at("bottom")),
          .top = naturals<std::size_t>(json.at("top")),
          .pooling = natural<std::size_t>(json.at("pooling")),
          .mode = json.at("pooling_mode") == "mean" ? Pooling::mean : Pooling::sum,
          .interaction = known->second};
}

}  // namespace lazydp
