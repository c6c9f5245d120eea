// lazydp resume: continues a run's folder exactly where it stopped, or from a settled state.

#include <filesystem>

#include "lazydp/base/error.h"
#include "lazydp/base/text/json.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/base/text/toml.h"
#include "lazydp/cli/options/privacy_limits.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/next_block.h"
#include "lazydp/cli/run/persistent_run.h"
#include "lazydp/cli/run/ranks.h"
#include "lazydp/cli/run/run.h"
#include "lazydp/cli/run/training_run.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/data/dataset.h"
#include "lazydp/release/release.h"
#include "lazydp/train/plan.h"

namespace lazydp::cli {
namespace {

// Returns the run's own flags, overridden by the command line. If two flags set the same value in
// two ways, the command line's wins.
FlagTexts merged(FlagTexts config, const FlagTexts& given) {
  if (given.steps || given.epochs || given.more_steps || given.more_epochs) {
    config.steps.reset();
    config.epochs.reset();
  }
  if (given.batch) config.sampling_rate.reset();
  if (given.sampling_rate) config.batch.reset();
  // Another unit sends what is usual for it, and other samples come with other noise.
  const auto changed = [&](Text FlagTexts::*flag) {
    return given.*flag && given.*flag != config.*flag;
  };
  if (changed(&FlagTexts::privacy_unit)) config.examples_per_unit.reset();
  if (!config.calibrate) config.calibrate = "off";  // of a version that could not
  if (changed(&FlagTexts::sampling)) {
    config.correlation.reset();
    config.calibrate.reset();
  }
  if (changed(&FlagTexts::sampling) || changed(&FlagTexts::privacy_unit)) {
    config.unit_participations.reset();
    config.unit_gap.reset();
  }
  // A learning rate that was kept for one rule means something else to another.
  if (given.dense_optimizer && given.dense_optimizer != config.dense_optimizer) {
    config.dense_lr.reset();
  }
  if (given.table_optimizer && given.table_optimizer != config.table_optimizer) config.lr.reset();
  for (const Flag& flag : all_flags()) {
    if (given.*flag.value) config.*flag.value = given.*flag.value;
  }
  config.out = given.operands.front();
  return config;
}

// Returns the run's own flags. The command line may give a new path for data, or an initial
// model, that has moved.
FlagTexts as_begun(FlagTexts config, const FlagTexts& given) {
  if (given.force) config.force = given.force;
  const bool moved = config.data && given.data && !std::filesystem::exists(*config.data);
  if (moved) config.data = given.data;
  if (config.init && given.init && !std::filesystem::exists(*config.init)) config.init = given.init;
  return config;
}

bool asked(const Text& text, const char* name) {
  return text && truth(name, *text);
}

// Returns whether a settled state can be trained for more steps as it is: its ledger records what
// was spent. Learning rates that the user did not choose follow the number of steps.
bool only_longer(const CheckpointHead& head, Json settings, const RunOptions& options,
                 const FlagTexts& wanted) {
  if (!head.settled || options.plan.steps <= head.step) return false;
  Json before = head.settings;
  for (Json* plan : {&before["plan"], &settings["plan"]}) {
    plan->erase("steps");
    if (!wanted.lr_schedule) plan->erase("rate_schedule");
  }
  return before == settings;
}

// Returns the number of steps after which those of --more-steps and --more-epochs come.
Step steps_taken(const RunDirectory& directory, const FlagTexts& given, std::size_t back) {
  if (!given.more_steps && !given.more_epochs) return 0;
  const CheckpointFolder folder(directory.checkpoints(), Json(), choose_passphrase(given));
  return folder.empty() ? 0 : folder.open(back)->head().step;
}

// Sets the length of the run as config.toml has it: counted from the beginning.
void count_from_the_beginning(const Plan& plan, FlagTexts& wanted) {
  if (!wanted.more_steps && !wanted.more_epochs) return;
  wanted.steps = std::to_string(plan.steps);
  wanted.more_steps.reset();
  wanted.more_epochs.reset();
}

// Throws UserError if the plan has fewer than `least` steps: steps that were taken cannot be
// undone.
void require_not_shorter(const Plan& plan, Step least, Step taken, const FlagTexts& given) {
  if (plan.steps >= least) return;
  const std::string what = given.steps    ? "steps is '" + *given.steps + "'"
                           : given.epochs ? "epochs is '" + *given.epochs + "'"
                                          : std::string("these settings");
  throw UserError(
      what + (given.steps ? "" : ", which makes " + with_commas(plan.steps) + " steps") +
      ", but the run has taken " + with_commas(taken) +
      ": --steps and --epochs count from its beginning; give more, or say what comes on "
      "top with --more-steps N or --more-epochs X");
}

void require_steps_to_calibrate(const Plan& plan, Step taken) {
  if (plan.steps > taken) return;
  throw UserError(
      "epsilon is to choose the noise of the steps to come, but there are none: the run "
      "has taken all " +
      with_commas(taken) + "; add some with --more-steps N or --more-epochs X");
}

void require_unfinished(const RunDirectory& directory, const Plan& plan, Step taken) {
  if (taken < plan.steps || !directory.released()) return;
  throw UserError("'" + directory.path() + "' is finished after " + std::to_string(taken) +
                  " steps; train it further with --more-steps N or --more-epochs X");
}

// Throws UserError unless weights and rows keep their meaning, weights of one shape cannot start
// another, nor rows of one hash another, and what a state holds besides them finds its place.
void require_same_weights(const RunOptions& before, const RunOptions& after) {
  const ModelShape& was = before.model.shape;
  const ModelShape& is = after.model.shape;
  if (was.table_rows != is.table_rows || was.dim != is.dim || was.bottom != is.bottom ||
      was.top != is.top || was.interaction != is.interaction) {
    throw UserError(
        "the run's model has another shape; rows, dim, bottom, top and interaction must stay");
  }
  const TableRule rule = before.plan.table_rule;
  if (rule != after.plan.table_rule) {
    throw UserError("the run's tables are trained by " + std::string(table_rule_name(rule)) +
                    ", whose state is part of the run's; table-optimizer must stay");
  }
  if (rule != TableRule::sgd && before.plan.frozen.tables != after.plan.frozen.tables) {
    throw UserError("the run's tables are trained by " + std::string(table_rule_name(rule)) +
                    ", whose state is part of the run's; the tables that are frozen must stay");
  }
  if (before.plan.initial.has_value() != after.plan.initial.has_value() ||
      (before.plan.initial && json_of(*before.plan.initial) != json_of(*after.plan.initial))) {
    throw UserError(
        "the run has begun with another model; --init and --init-is-public are about its beginning "
        "and must stay");
  }
  if (before.task.file && after.task.file) {
    require_same_columns(*before.task.file->file, *after.task.file->file);
  }
}

// Throws UserError if the storage of tables differs: a state that was settled for a run that then
// cannot read it would be lost to both.
void require_same_storage(const CheckpointHead& head, const RunOptions& options) {
  if (head.tables && !options.table_folder) {
    throw UserError(
        "the run's tables are in files; give the --table-storage that it was begun with");
  }
  if (!head.tables && options.table_folder) {
    throw UserError("the run's tables are in its checkpoints; go on without --table-storage");
  }
}

// Checks the files that are read, or moved, before the first step.
void require_whole(const RunDirectory& directory) {
  read_metrics_log(directory.metrics());
  if (directory.released()) verified_card(directory.model());
}

// Settles the state under the key and the plan that it was trained with, and makes that the state
// to continue from, with a new key.
void settle_for(const RunOptions& before, const RunOptions& after, PersistentRun& kept,
                Progress& progress) {
  const CheckpointHead& head = kept.from->head();
  progress.say("settling every row before the settings change ...");
  const UnreadableDataset data(before.task.examples());
  TrainingRun old(before, data, head.seed, TrainingRun::Weights::zero, kept.run(), ranks());
  kept.folder.restore(*kept.from, *old.trainer);
  if (!before.table_folder) old.trainer->settle_all();
  kept.folder.change_settings(settings_of(after));
  kept.folder.replace_by_settled(*old.trainer);
}

// Calibrates the noise of the steps to come, if a budget chose it, after what was spent; from here
// on it is a flag like any other.
void calibrate_the_rest(const CheckpointHead& head, RunOptions& options, FlagTexts& wanted) {
  double& noise = options.plan.mechanism.noise_multiplier;
  noise = noise_for(options.plan, Progressed::in_new_block(head.step, head.spent));
  wanted.noise_multiplier = exact_text(noise);
  // Rates that the user did not give would follow it.
  wanted.lr = exact_text(options.plan.table_rate);
  wanted.dense_lr = exact_text(options.plan.dense_rate);
}

}  // namespace

// Checks everything before anything is written: a refused command leaves the run's folder as it
// was.
void resume(const FlagTexts& given) {
  choose_threads(given);
  const bool branch = asked(given.branch, "branch");
  const std::size_t back = asked(given.previous, "previous") ? 1 : 0;
  RunDirectory directory =
      first_rank_first([&] { return RunDirectory::existing(given.operands.front()); });
  const FlagTexts config = directory.config();
  FlagTexts wanted = with_table_folder_in_full(merged(config, given));
  RunOptions options =
      choose_run(wanted, first_rank_first([&] { return steps_taken(directory, given, back); }));
  wanted = with_choices(std::move(wanted), options);
  count_from_the_beginning(options.plan, wanted);
  const SaveOptions keeping = choose_keeping(wanted);
  require_equal_ranks(options, wanted);
  warn_of_large_budget(options.plan);
  require_memory_for(options);
  require_disk_for(options, keeping, given.operands.front());
  const Output output(for_this_rank(given));

  PersistentRun kept = first_rank_first([&] {
    return PersistentRun(std::move(directory), keeping, options, choose_passphrase(given));
  });
  kept.lifetime = LifetimeRun::of(wanted, kept.directory);
  kept.open_checkpoint(back);
  kept.goes_on = [&kept, &wanted] {
    if (ranks().rank() == 0) kept.directory.put_aside_model();
    kept.directory.write_config(wanted);
  };
  const bool dry = asked(given.dry_run, "dry-run");
  if (!kept.from) {
    if (!dry) return run_and_report(options, output, &kept);
    if (ranks().rank() == 0) dry_run(options, at_beginning(options.plan), output);
    return;
  }

  const CheckpointHead& head = kept.from->head();
  place_in_stream(head, options);
  require_not_shorter(options.plan, head.step, head.step, given);
  if (head.settled || branch || head.settings != settings_of(options)) {
    declare_new_block(head, given, options, wanted);
  }
  if (branch && options.calibrated) {
    require_steps_to_calibrate(options.plan, head.step);
    calibrate_the_rest(head, options, wanted);
  }
  const Json settings = settings_of(options);
  kept.folder.change_settings(settings);
  const bool longer = only_longer(head, settings, options, wanted);
  if (head.settings != settings && !longer && !branch) {
    require_same_settings(head.settings, settings);
  }
  const bool goes_on = !head.settled && head.settings == settings;
  const Progressed so_far = goes_on ? Progressed::in_block(head.step, head.spent)
                                    : Progressed::in_new_block(head.step, head.spent);
  require_affordable(options.plan, head.step, last_affordable_step(options.plan, so_far));
  require_unfinished(kept.directory, options.plan, head.step);
  if (head.settings != settings && (given.steps || given.epochs)) {  // about steps to come
    require_not_shorter(options.plan, head.step + 1, head.step, given);
  }
  require_same_storage(head, options);
  if (head.settings != settings) {
    RunOptions before = choose_run(as_begun(config, given));
    before.before_data = step_before_data(head);
    const Json begun = settings_of(before);
    // An earlier command may have begun to continue from a settled state in another way, and have
    // been ended before the next checkpoint: those steps have drawn noise, so these get another
    // key.
    if (!longer || (begun != head.settings && begun != settings)) {
      if (!longer) require_same_settings(head.settings, begun);
      require_same_weights(before, options);
      require_whole(kept.directory);
      if (!dry) {
        Progress progress = output.progress();
        settle_for(before, options, kept, progress);
        kept.open_checkpoint();
      }
    }
  }
  if (dry) {
    if (ranks().rank() == 0) dry_run(options, so_far, output);
    return;
  }
  ranks().barrier();  // all ranks have read the folder
  run_and_report(options, output, &kept);
}

}  // namespace lazydp::cli
