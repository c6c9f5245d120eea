// What a run would claim and need, and about how long it would take, without training.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

#include "lazydp/base/memory.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/initial_options.h"
#include "lazydp/cli/options/privacy_limits.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/run/persistent_run.h"
#include "lazydp/cli/run/run.h"
#include "lazydp/cli/run/training_run.h"
#include "lazydp/data/synthetic/synthetic.h"
#include "lazydp/train/defaults.h"
#include "lazydp/train/memory_needs.h"
#include "lazydp/train/plan.h"

namespace lazydp::cli {
namespace {

constexpr double kTrialBytes = 1e9;
constexpr Step kTrialSteps = 4;

double whole_step(const StepReport& report) {
  double seconds = 0.0;
  for (const double stage : report.seconds) seconds += stage;
  return seconds;
}

double estimated_step_seconds(RunOptions options) {
  ModelShape& shape = options.model.shape;
  const auto bytes = static_cast<double>(shape.table_bytes());
  for (RowId& rows : shape.table_rows) {
    const double scaled = std::ceil(static_cast<double>(rows) * std::min(1.0, kTrialBytes / bytes));
    rows = static_cast<RowId>(scaled);
  }
  options.plan.steps = std::min(options.plan.steps, kTrialSteps);
  options.plan.budget.reset();
  // Units are tried as so many single examples.
  const auto examples = static_cast<std::uint64_t>(
      std::ceil(static_cast<double>(options.task.examples()) * options.examples_sent()));
  options.plan.examples_per_unit = 1;
  options.batch = static_cast<std::uint64_t>(
      std::ceil(static_cast<double>(options.batch) * options.examples_sent()));
  options.task = {
      .name = "a trial", .what = AccessLaw{}, .file = nullptr, .timing_examples = examples};
  options.sampling = Sampling::poisson;
  options.plan.blocks.reset();
  options.performance.read_ahead = false;
  options.initial.reset();
  options.table_folder.reset();
  const auto data = make_timing_dataset({.examples = options.task.examples(),
                                         .dense_features = shape.dense_features(),
                                         .table_rows = shape.table_rows,
                                         .pooling = shape.pooling},
                                        AccessLaw{});
  TrainingRun trial(options, *data, Seed::fixed(0), TrainingRun::Weights::initial);
  std::vector<double> seconds;
  for (Step t = 1; t <= options.plan.steps; ++t) {
    const StepReport& report = trial.trainer->step();
    const double settle = report.seconds[static_cast<std::size_t>(Stage::settle)];
    const bool eager = options.plan.recipe.writes_every_row();
    const double larger = bytes / static_cast<double>(shape.table_bytes());
    seconds.push_back(whole_step(report) + (eager ? settle * (larger - 1.0) : 0.0));
  }
  return median(seconds);
}

// Returns rates and rules, and the reason for a rate of tables that follows the noise.
std::string training_in_words(const RunOptions& options) {
  const Plan& plan = options.plan;
  std::string text =
      "learning rates " + shortest(plan.table_rate) + " (tables, " +
      std::string(table_rule_name(plan.table_rule)) + ") and " + shortest(plan.dense_rate) +
      " (MLPs, " + std::string(dense_rule_name(plan.dense_rule)) + "), schedule " +
      plan.rate_schedule.text() + ", clip norm " + shortest(plan.mechanism.clip_norm) +
      ", interaction " + std::string(interaction_name(options.model.shape.interaction));
  if (plan.calibrates_scores) {
    text += ";\n           then scores are calibrated by counts of them, noise multiplier " +
            fixed(calibration_noise(plan), 1);
  }
  const double noise = noise_of_a_row(plan);
  if (noise > 0.0) {
    text += ";\n           all noise of the run adds up to " + fixed(noise, 2) +
            " on a weight of a table";
  }
  return text;
}

}  // namespace

void dry_run(const RunOptions& options, const Progressed& so_far, const Output& output) {
  const Plan& plan = options.plan;
  const bool units = options.task.file && options.task.file->units;
  const Step last = last_affordable_step(plan, so_far);
  require_affordable(plan, so_far.now, last);
  const Step to_come = last - so_far.now;
  const Ledger ledger = ledger_through(plan, so_far, last);
  const std::string why = no_claim(plan, !options.seed, options.sampling);
  const double cost = why.empty() ? epsilon(ledger, options.delta, plan.accountant) : 0.0;
  if (!plan.budget) warn_of_large_epsilon(cost);
  const MemoryNeeds needs = needs_of(options);
  const double seconds = estimated_step_seconds(options);

  const std::string beginning = beginning_in_words(options);
  if (std::ostream* out = output.report()) {
    *out << plan.recipe.name << " on " << options.model.shape.name << ", " << options.task.name
         << ": " << with_commas(last) << " steps of "
         << with_commas(static_cast<double>(options.batch))
         << (units ? " units, each of which sends " + sent_in_words(plan.examples_per_unit) + "\n"
                   : " examples\n")
         << "  privacy  "
         << (why.empty()
                 ? "epsilon " + rounded_up(cost, 5) + " at delta " + shortest(options.delta) +
                       " (" + std::string(accountant_name(plan.accountant)) +
                       "), noise multiplier " + shortest(plan.mechanism.noise_multiplier) +
                       ", sampling rate " + shortest(plan.mechanism.sampling_rate)
                 : "no claim: " + why)
         << (so_far.now == 0 ? ""
                             : "\n  steps    " + with_commas(so_far.now) + " taken, " +
                                   with_commas(to_come) + " to come")
         << "\n  training " << training_in_words(options)
         << (beginning.empty() ? "" : "\n  begins   " + beginning) << "\n  memory   "
         << human_bytes(needs.total()) << " of "
         << human_bytes(static_cast<double>(available_memory())) << " available (tables "
         << human_bytes(needs.tables) << ", history " << human_bytes(needs.history) << ")\n"
         << "  time     about " << human_duration(seconds * to_come) << " ("
         << fixed(seconds * 1e3, 1) << " ms a step)\n"
         << "What no flag says was chosen from the number of records, the budget and the schema, "
            "never from the data.\n"
         << "Nothing was trained, and no data was read.\n";
  }
  Json json = {{"epsilon", why.empty() ? Json(cost) : Json()},
               {"delta", options.delta},
               {"accountant", accountant_name(plan.accountant)},
               {"noise_multiplier", plan.mechanism.noise_multiplier},
               {"sampling_rate", plan.mechanism.sampling_rate},
               {"steps", last},
               {"batch", options.batch},
               {"table_rate", plan.table_rate},
               {"dense_rate", plan.dense_rate},
               {"dense_optimizer", dense_rule_name(plan.dense_rule)},
               {"clip_norm", plan.mechanism.clip_norm},
               {"calibrates_scores", plan.calibrates_scores},
               {"interaction", interaction_name(options.model.shape.interaction)},
               {"memory_bytes", needs.total()},
               {"step_ms", seconds * 1e3},
               {"seconds", seconds * to_come},
               {"steps_taken", so_far.now},
               {"dry_run", true}};
  if (units) json["a_unit_sends"] = sent_in_words(plan.examples_per_unit);
  output.write(json);
}

}  // namespace lazydp::cli
