// lazydp resume: goes on with a run's folder, exactly where it was, or from a settled state.

#include <filesystem>

#include "lazydp/apps/absent_data.h"
#include "lazydp/apps/disk_needs.h"
#include "lazydp/apps/kept.h"
#include "lazydp/apps/output.h"
#include "lazydp/apps/ranks.h"
#include "lazydp/apps/run.h"
#include "lazydp/apps/session.h"
#include "lazydp/apps/values.h"
#include "lazydp/apps/verbs.h"
#include "lazydp/base/error.h"
#include "lazydp/base/exact_text.h"
#include "lazydp/train/budget.h"
#include "lazydp/train/json_number.h"
#include "lazydp/train/release.h"

namespace lazydp::apps {
namespace {

// The run's own flags, except where the command line says otherwise. Of two flags that say the
// same thing in two ways the command line's wins.
Given merged(Given config, const Given& given) {
  if (given.steps) config.epochs.reset();
  if (given.epochs) config.steps.reset();
  if (given.batch) config.sampling_rate.reset();
  if (given.sampling_rate) config.batch.reset();
  for (const Flag& flag : all_flags()) {
    if (given.*flag.value) config.*flag.value = given.*flag.value;
  }
  config.out = given.operands.front();
  return config;
}

// Data that is no longer where it was lies where the command line says.
Given where_data_lies(Given config, const Given& given) {
  const bool moved = config.data && given.data && !std::filesystem::exists(*config.data);
  if (moved) config.data = given.data;
  return config;
}

bool asked(const Text& text, const char* name) {
  return text && truth(name, *text);
}

// A settled state may be trained for more steps as it is: its ledger says what was spent. Learning
// rates that nobody chose follow the number of steps.
bool only_longer(const CheckpointHead& head, Json settings, const RunOptions& options,
                 const Given& wanted) {
  if (!head.settled || options.plan.steps <= head.step) return false;
  Json before = head.settings;
  for (Json* plan : {&before["plan"], &settings["plan"]}) {
    plan->erase("steps");
    if (!wanted.lr_schedule) plan->erase("rate_schedule");
  }
  return before == settings;
}

// Before anything is replaced: weights of one shape are no start for another.
void require_same_weights(const ModelShape& before, const ModelShape& after) {
  if (before.table_rows == after.table_rows && before.dim == after.dim &&
      before.bottom == after.bottom && before.top == after.top) {
    return;
  }
  throw UserError("the run's model has another shape; rows, dim, bottom and top must stay");
}

// Settles the state under the key and the plan that it was trained with, and makes that the state
// to go on from, with a new key.
void settle_for(const RunOptions& before, const RunOptions& after, Kept& kept, Progress& progress) {
  const CheckpointHead& head = kept.from->head();
  progress.say("settling every row before the settings change ...");
  const AbsentData data(before.task.examples());
  Running old(before, data, head.seed, Running::Weights::zero, kept.run(), ranks());
  kept.folder.restore(*kept.from, old.trainer);
  if (!before.table_folder) old.trainer.settle_all();
  kept.folder.change_settings(settings_of(after));
  kept.folder.replace_by_settled(old.trainer);
}

// A budget that chose the noise chooses that of the steps to come, after what was spent; from here
// on it is a flag like any other.
void calibrate_the_rest(const CheckpointHead& head, RunOptions& options, Given& wanted) {
  double& noise = options.plan.mechanism.noise_multiplier;
  noise = noise_for(options.plan, head.step, head.spent);
  wanted.noise_multiplier = exact_text(noise);
  // Rates that nobody gave would follow it.
  wanted.lr = exact_text(options.plan.table_rate);
  wanted.dense_lr = exact_text(options.plan.dense_rate);
}

// A model that was released before the run went on stays, under another name.
void put_aside_model(const RunDirectory& directory) {
  if (ranks().rank() != 0 || !directory.released()) return;
  const Json card = verified_card(directory.model());
  std::uint64_t steps = 0;
  for (const Json& event : card.at("ledger")) steps += natural<std::uint64_t>(event.at("steps"));
  const std::string name = directory.model() + "-step-" + std::to_string(steps);
  // That name is taken if a run was ended right here, went on and released the same model again.
  std::error_code error;
  std::filesystem::rename(directory.model(), name, error);
  for (int again = 2; error == std::errc::directory_not_empty && again < 100; ++again) {
    std::filesystem::rename(directory.model(), name + "-" + std::to_string(again), error);
  }
  if (error) throw IoError("cannot rename " + directory.model() + ": " + error.message());
}

}  // namespace

void resume(const Given& given) {
  choose_threads(given);
  RunDirectory directory =
      first_rank_first([&] { return RunDirectory::existing(given.operands.front()); });
  const Given config = directory.config();
  Given wanted = with_table_folder_in_full(merged(config, given));
  RunOptions options = choose_run(wanted);
  const Keeping keeping = choose_keeping(wanted);
  require_equal_ranks(options, wanted);
  require_memory_for(options);
  require_disk_for(options, keeping, given.operands.front());
  const Output output(for_this_rank(given));

  Kept kept = first_rank_first(
      [&] { return Kept(std::move(directory), keeping, options, choose_lock(given)); });
  kept.open_checkpoint(asked(given.previous, "previous") ? 1 : 0);
  if (!kept.from) return run_and_report(options, output, &kept);

  const CheckpointHead& head = kept.from->head();
  if (asked(given.branch, "branch") && options.calibrated) {
    calibrate_the_rest(head, options, wanted);
  }
  require_affordable(options.plan, head.step,
                     last_affordable_step(options.plan, head.step, head.spent));
  const Json settings = settings_of(options);
  if (head.settings != settings) {
    const bool longer = only_longer(head, settings, options, wanted);
    if (!longer && !asked(given.branch, "branch")) require_same_settings(head.settings, settings);
    const RunOptions before = choose_run(where_data_lies(config, given));
    const Json begun = settings_of(before);
    // Somebody may have begun to go on from a settled state in another way, and was ended before
    // the next checkpoint: those steps have drawn noise, so these get another key.
    if (!longer || (begun != head.settings && begun != settings)) {
      if (!longer) require_same_settings(head.settings, begun);
      require_same_weights(before.model.shape, options.model.shape);
      Progress progress = output.progress();
      settle_for(before, options, kept, progress);
      kept.open_checkpoint();
    }
  }
  if (kept.from->head().step >= options.plan.steps && kept.directory.released()) {
    throw UserError("'" + kept.directory.path() + "' is finished after " +
                    std::to_string(kept.from->head().step) +
                    " steps; train it further with --steps N or --epochs X");
  }
  ranks().barrier();  // all have seen what is there
  kept.goes_on = [&kept, &wanted] {
    put_aside_model(kept.directory);
    kept.directory.write_config(wanted);
  };
  run_and_report(options, output, &kept);
}

}  // namespace lazydp::apps
