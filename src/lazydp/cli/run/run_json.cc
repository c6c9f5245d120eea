#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/run/report.h"
#include "lazydp/data/schema_json.h"

namespace lazydp::cli {

Json json_of(const StageTimes& stages) {
  Json json = Json::object();
  for (const auto& [name, ms] : stages) json[std::string(name)] = ms;
  return json;
}

Json json_of(const RunOptions& options, const RunResult& result) {
  const Plan& plan = options.plan;
  const Claim& claim = result.claim;
  Json json = {
      {"algorithm", plan.recipe.name},
      {"model", options.model.shape.name},
      {"scale", options.model.scale},
      {options.task.file ? "data" : "synthetic", options.task.name},
      {"batch", options.batch},
      {"steps", result.steps},
      {"threads", result.threads},
      {"ranks", result.ranks},
      {"settle", settle_name(options.performance)},
      {"stages", stages_name(options.performance)},
      {"sampling", sampling_name(options.sampling)},
      {"sampling_rate", plan.mechanism.sampling_rate},
      {"clip_norm", plan.mechanism.clip_norm},
      {"noise_multiplier", plan.mechanism.noise_multiplier},
      {"table_rate", plan.table_rate},
      {"dense_rate", plan.dense_rate},
      {"score_scaling", result.score_scaling ? json_of(*result.score_scaling) : Json()},
      {"dense_optimizer", dense_rule_name(plan.dense_rule)},
      {"table_optimizer", table_rule_name(plan.table_rule)},
      {"seed", options.seed ? "fixed" : "os"},
      {"step_ms",
       {{"median", median(result.times.step_ms())},
        {"min", quantile(result.times.step_ms(), 0.0)}}},
      {"stages_ms", json_of(result.times.stages_ms(plan.recipe, options.performance.passes))},
      {"seconds", result.seconds},
      {"steps_per_second", result.times.steps() / result.seconds},
      {"settle_all_ms", result.settle_seconds * 1e3},
      {"checkpoint_ms", result.save_seconds * 1e3},
      {"rows_read", result.times.rows_read()},
      {"rows_written", result.times.rows_written()},
      {"table_bytes", result.table_bytes},
      {"table_file_bytes", result.file_bytes},
      {"history_bytes", result.history_bytes},
      {"peak_rss_bytes", result.peak_rss_bytes},
      {"loss", result.loss},
      {"auc", result.held_out.auc},
      {"logloss", result.held_out.logloss},
      {"normalised_entropy", result.held_out.normalised_entropy},
      {"calibration", result.held_out.calibration},
      {"bayes_auc", result.bayes_auc},
      {"bayes_logloss", result.bayes_logloss},
      {"epsilon", claim.holds ? Json(claim.epsilon) : Json()},
      {"delta", claim.delta},
      {"accountant", accountant_name(claim.accountant)},
      {"claim", claim.holds ? claim.because : "none: " + claim.because},
  };
  const Json of_plan = json_of(plan);
  for (const char* key : {"initial_model", "frozen", "positive_weight"}) {
    if (of_plan.contains(key)) json[key] = of_plan[key];
  }
  if (plan.budget) {
    json["budget"] = {{"epsilon", plan.budget->epsilon},
                      {"spent", result.budget_spent},
                      {"noise_multiplier_calibrated", options.calibrated}};
  }
  if (result.ranks > 1) {
    json["exchanged_bytes_per_step"] =
        static_cast<double>(result.exchanged_bytes) / result.times.steps();
    json["exchange_under_way_ms"] = result.exchange.under_way * 1e3 / result.times.steps();
    json["exchange_waited_ms"] = result.exchange.waited * 1e3 / result.times.steps();
  }
  if (!result.released.empty()) json["released"] = result.released;
  if (const auto& data = options.task.file) {
    json["examples"] = data->train->size();
    json["split"] = data->split;
    json["privacy_unit"] = data->unit;
    if (data->units) {
      json["units"] = data->units->size();
      json["examples_per_unit"] = plan.examples_per_unit == kEveryExampleOfAUnit
                                      ? Json("all")
                                      : Json(plan.examples_per_unit);
    }
    if (options.task.grouped()) {
      json["group_by"] = *data->group_by;
      json["gauc"] = result.held_out.gauc;
      json["ndcg"] = result.held_out.ndcg;
      json["recall"] = result.held_out.recall;
      json["cutoff"] = options.cutoff;
    }
    json["held_out_examples"] = data->test ? data->test->size() : 0;
    json["schema"] = json_of(data->file->schema());
  }
  if (result.microbatches.examples > 0) {
    json["microbatch"] = {{"examples", result.microbatches.examples},
                          {"bytes_one_pass", result.microbatches.bytes_one_pass}};
  }
  return json;
}

}  // namespace lazydp::cli
