// lazydp tune: searches a grid for the best model, and pays for the choice.

#include <iostream>
#include <optional>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/privacy_limits.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/process.h"
#include "lazydp/cli/run/persistent_run.h"
#include "lazydp/cli/run/ranks.h"
#include "lazydp/cli/run/report.h"
#include "lazydp/cli/run/run.h"
#include "lazydp/cli/run/training_run.h"
#include "lazydp/cli/search/search_folder.h"
#include "lazydp/cli/search/search_plan.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/data/dataset.h"
#include "lazydp/release/release.h"
#include "lazydp/train/noisy_score.h"

namespace lazydp::cli {
namespace {

double score_std(const SearchPlan& plan) {
  return plan.score.noise_multiplier * plan.score.sensitivity(plan.scored);
}

Json json_of(const SearchPlan& plan) {
  return {{"epsilon", plan.epsilon},
          {"delta", plan.budget.delta},
          {"accountant", "rdp"},
          {"candidates", plan.candidates.size()},
          {"candidate_epsilon", plan.candidate_epsilon},
          {"trials_mean", mean_trials(plan.search.trials)},
          {"eta", plan.search.trials.eta},
          {"gamma", plan.search.trials.gamma},
          {"scored", plan.scored},
          {"score_bound", plan.score.bound},
          {"score_noise_multiplier", plan.score.noise_multiplier},
          {"score_std", score_std(plan)}};
}

std::string noise_in_words(const SearchPlan& plan) {
  const auto [least, most] = std::ranges::minmax(plan.candidates, {}, &Candidate::noise_multiplier);
  const std::string high = shortest(most.noise_multiplier);
  return least.noise_multiplier < most.noise_multiplier
             ? "from " + shortest(least.noise_multiplier) + " to " + high
             : high;
}

void print_plan(std::ostream& out, const SearchPlan& plan) {
  out << "a private search over " << plan.candidates.size() << " candidates\n"
      << "  privacy  epsilon " << rounded_up(plan.epsilon, 5) << " at delta "
      << shortest(plan.budget.delta) << " (rdp) for the whole search\n"
      << "  trials   " << shortest(mean_trials(plan.search.trials))
      << " expected (truncated negative binomial, eta " << shortest(plan.search.trials.eta)
      << ", gamma " << shortest(plan.search.trials.gamma) << "); the number is drawn in secret\n"
      << "  each     epsilon " << rounded_up(plan.candidate_epsilon, 5)
      << " for training a candidate, noise multiplier " << noise_in_words(plan) << "\n"
      << "  score    mean log-loss of " << with_commas(static_cast<double>(plan.scored)) << " "
      << plan.unit << ", each at most " << shortest(plan.score.bound)
      << ", with noise of standard deviation " << shortest(score_std(plan)) << "\n";
}

// Opens the run's folder of a trial, under settings that no verb but this has.
PersistentRun open_trial(const SearchFolder& folder, std::uint64_t number,
                         const RunOptions& options, SaveOptions keeping, const FlagTexts& given) {
  keeping.release = false;
  PersistentRun kept(RunDirectory::for_trial(folder.trial(number)), keeping, options,
                     choose_passphrase(given));
  Json settings = settings_of(options);
  settings["search"] = "a trial of a private search";
  kept.folder.change_settings(settings);
  kept.open_checkpoint();
  if (kept.from) require_same_settings(kept.from->head().settings, settings);
  return kept;
}

// Trains the next trial's candidate and records its noisy score. The trial begins, goes on or, once
// it is trained, only gets its score again: with the same draws in each case.
void run_trial(const SearchPlan& plan, const SaveOptions& keeping, const FlagTexts& given,
               SearchFolder& folder, Progress& progress) {
  const std::uint64_t number = folder.done() + 1;
  const Candidate& candidate = plan.candidates[folder.candidate_of(number, plan.candidates.size())];
  progress.say("a candidate:" + candidate.chosen);
  folder.prepare(number);
  const RunOptions options = choose_run(candidate.given);
  TrainingData task = load_data(options.task, options.model.shape);
  const std::shared_ptr<const Dataset> scored = task.file ? task.validation : task.held_out;
  const auto units = task.file ? validation_units(*task.file, candidate.given) : nullptr;
  task.held_out = nullptr;  // nothing but the noisy score looks at what is held out
  std::optional<double> score;
  PersistentRun kept = open_trial(folder, number, options, keeping, given);
  kept.trial = {folder.seed_of(number), [&](Trainer& trainer) {
                  RandomStream noise = folder.score_noise_of(number);
                  score = noisy_score([&](const Batch& batch) { return trainer.predict(batch); },
                                      {*scored, units.get()}, plan.score, noise);
                }};
  train_run(options, task, progress, &kept);
  folder.record(score.value());
}

// Releases the best trial, with a card that pays for the search, and removes the trial.
void release_best(const SearchPlan& plan, const FlagTexts& given, const SearchFolder& folder,
                  const Output& output) {
  const Candidate& candidate =
      plan.candidates[folder.candidate_of(folder.best(), plan.candidates.size())];
  const RunOptions options = choose_run(candidate.given);
  PersistentRun kept = open_trial(folder, folder.best(), options, {}, given);
  if (!kept.from) throw IoError("the best trial of " + folder.path() + " is gone");
  const UnreadableDataset data(options.task.examples());
  TrainingRun run(options, data, kept.from->head().seed, TrainingRun::Weights::zero, kept.run(),
                  ranks());
  kept.folder.restore(*kept.from, *run.trainer);
  const ReleasedModel model = release(std::move(run.trainer),
                                      {.delta = options.delta,
                                       .shape = options.model.shape,
                                       .data = card_of(options.task),
                                       .search = plan.search},
                                      kept.folder);
  model.write(folder.model());
  folder.remove_trials();
  if (std::ostream* out = output.report()) {
    *out << "chosen:" << candidate.chosen << "\n";
    print_release(*out, model, folder.model());
  }
  Json numbers = json_of(plan);
  numbers["chosen"] = model.card().at("plan");
  numbers["claim"] = model.card().at("claim");
  output.write(numbers);
}

}  // namespace

void tune(const FlagTexts& given) {
  choose_threads(given);
  const bool dry = given.dry_run && truth("dry-run", *given.dry_run);
  if (!dry && !given.out) throw UserError("tune needs --out: the search's folder, which is secret");
  const SearchPlan plan = plan_search(given);
  warn_of_large_epsilon(plan.budget.epsilon);
  const SaveOptions keeping = choose_keeping(given);
  for (const Candidate& candidate : plan.candidates) {
    require_disk_for(choose_run(candidate.given), keeping, given.out.value_or(""));
  }
  const Output output(given);
  if (std::ostream* out = output.report()) print_plan(*out, plan);
  if (dry) {
    if (std::ostream* out = output.report()) *out << "Nothing was trained.\n";
    Json numbers = json_of(plan);
    numbers["dry_run"] = true;
    return output.write(numbers);
  }
  SearchFolder folder =
      SearchFolder::open(*given.out, plan.settings, plan.search.trials, choose_passphrase(given));
  Progress progress = output.progress();
  try {
    while (folder.done() < folder.trials()) run_trial(plan, keeping, given, folder, progress);
  } catch (const Interrupted& stop) {
    throw Interrupted("stopped; the same command goes on with the search in " + folder.path(),
                      stop.exit_code - 128);
  }
  release_best(plan, given, folder, output);
}

}  // namespace lazydp::cli
