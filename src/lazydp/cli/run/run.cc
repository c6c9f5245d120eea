#include "lazydp/cli/run/run.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/memory.h"
#include "lazydp/base/parallel.h"
#include "lazydp/base/stages.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/privacy_limits.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/process.h"
#include "lazydp/cli/run/persistent_run.h"
#include "lazydp/cli/run/ranks.h"
#include "lazydp/cli/run/report.h"
#include "lazydp/cli/run/run_page.h"
#include "lazydp/cli/run/run_progress.h"
#include "lazydp/cli/run/training_health.h"
#include "lazydp/cli/run/training_run.h"
#include "lazydp/data/schema_json.h"
#include "lazydp/train/memory_needs.h"
#include "lazydp/train/score_calibration.h"

namespace lazydp::cli {
namespace {

// Returns whether it is time to save. The clocks of ranks differ: the first rank's counts.
bool due(CheckpointClock& clock, const SaveOptions& keeping, Trainer& trainer) {
  bool here = clock.due(trainer.now());
  if (keeping.every_seconds <= 0.0) return here;
  trainer.state().comm.run([&here](Communicator& all) {
    all.broadcast(std::as_writable_bytes(std::span(&here, 1)), 0);
  });
  return here;
}

Judgement judgement(const RunOptions& options, const GroupOf& group_of) {
  return {.group_of = group_of,
          .cutoff = options.cutoff,
          .positive_weight = options.plan.positive_weight};
}

// Takes the steps that are left. Returns the signal that asked to stop, 0 if none did.
int take_steps(const RunOptions& options, const TrainingData& task, Trainer& trainer,
               const InterruptWatch& interrupts, Progress& progress, PersistentRun* kept,
               MetricsLog* log, RunResult& result) {
  EpsilonNow epsilon(trainer, options.delta, kept != nullptr && kept->trial);
  CheckpointClock checkpoints(kept != nullptr ? kept->keeping : SaveOptions{});
  const Step last = trainer.last_step();
  FinalLoss loss(last);
  LossWatch watch(last, trainer.now());
  bool stop = interrupts.signal() != 0;
  while (trainer.now() < last && !stop) {
    const StepReport& report = trainer.step(interrupts.signal() != 0);
    stop = ranks().size() > 1 ? report.stop : interrupts.signal() != 0;
    result.times.add(report);
    loss.add(report);
    progress.step(report, std::ref(epsilon));
    if (const auto warning = watch.add(report); warning && options.task.learnable()) {
      progress.say(*warning);
    }
    const Step t = report.step;
    if (log != nullptr) log->step(report, is_tenth(t, last) ? epsilon() : std::nullopt);
    if (options.eval_every > 0 && t % options.eval_every == 0 && t < last) {
      const Metrics metrics = evaluate(
          trainer, task.validation ? *task.validation : *task.held_out, options.eval_examples,
          judgement(options, task.validation ? task.validation_group : task.held_out_group));
      progress.evaluated(t, metrics);
      if (log != nullptr) {
        log->evaluation(t, metrics, task.validation ? "validation" : "test",
                        epsilon.known() ? epsilon() : std::nullopt);
      }
    }
    if (kept != nullptr && due(checkpoints, kept->keeping, trainer) && t < last) {
      const Stopwatch saving;
      kept->folder.save(trainer);
      result.save_seconds = saving.seconds();
    }
  }
  result.loss = loss.mean();
  result.first_loss = watch.first();
  if (trainer.now() >= last) return 0;
  return interrupts.signal() != 0 ? interrupts.signal() : SIGTERM;  // another rank's signal
}

// Returns the signal that asked any of the ranks to stop, 0 if none did.
int signal_of_any(const InterruptWatch& interrupts, Trainer& trainer) {
  const int here = interrupts.signal();
  double asked = here != 0 ? 1.0 : 0.0;
  trainer.state().comm.run([&asked](Communicator& all) { all.add_up(std::span(&asked, 1)); });
  if (asked == 0.0) return 0;
  return here != 0 ? here : SIGTERM;
}

// Returns a callback that shows how many of all rows were settled.
auto show_settled(const ModelShape& shape, Progress& progress) {
  return
      [&progress, done = std::uint64_t{0}, all = shape.total_rows()](std::uint64_t rows) mutable {
        done += rows;
        progress.settled(done, all);
      };
}

// Returns where tables in files find an initial model's rows as long as the run lasts: in its
// folder, if it has one.
std::string keep_initial_rows(const RunOptions& options, PersistentRun* kept) {
  if (!options.initial || !options.table_folder || kept == nullptr) return "";
  kept->folder.begin_with_rows(options.initial->file(), options.initial->model().blake2b);
  return kept->folder.settled_rows();
}

// Saves the state if the run has a folder, and says how to continue.
[[noreturn]] void stop(Trainer& trainer, PersistentRun* kept, int signal, Progress& progress) {
  progress.end();
  const std::string after = "stopped after step " + with_commas(trainer.now());
  if (kept == nullptr) {
    throw Interrupted(after + "; nothing was kept (--out DIR keeps a run)", signal);
  }
  kept->folder.save(trainer);
  throw Interrupted(after + "; go on with: lazydp resume " + kept->directory.path(), signal);
}

// Leaves a model in the folder at the end, or the state to make one from.
void leave(const RunOptions& options, std::unique_ptr<Trainer> trainer, PersistentRun& kept,
           Progress& progress, RunResult& result) {
  // Tables in files are settled while they are written, which may fail for want of disk space: then
  // nothing has been lost.
  if (!kept.keeping.release || options.table_folder) kept.folder.save(*trainer);
  if (!kept.keeping.release) return;
  const bool shown = kept.keeping.metrics_on_card && result.held_out.examples > 0;
  release_run(options, std::move(trainer), kept,
              shown ? std::optional(result.held_out) : std::nullopt, progress);
  result.released = kept.directory.model();
}

}  // namespace

// Returns the needs of all ranks on this machine.
MemoryNeeds needs_of(const RunOptions& options) {
  const Recipe& recipe = options.plan.recipe;
  ModelShape here = options.model.shape;
  const Layout layout = layout_of(options, ranks().size());
  for (std::size_t k = 0; k < here.tables(); ++k) {
    here.table_rows[k] = std::max<RowId>(1, layout.range(k, ranks().rank()).count);
  }
  const auto examples = static_cast<std::uint64_t>(
      std::ceil(static_cast<double>(options.batch) * options.examples_sent()));
  const auto batch = examples / static_cast<std::uint64_t>(ranks().size()) + 1;
  const OptimizerKind kind{
      .decay = options.plan.weight_decay > 0.0 ? WeightDecay::on : WeightDecay::off,
      .rule = options.plan.table_rule,
      .frozen_tables = options.plan.frozen.tables};
  MemoryNeeds needs = memory_needs(here, {&recipe, 1}, kind, options.performance, batch,
                                   options.plan.steps, options.task.bytes());
  if (options.table_folder) needs = with_tables_in_files(needs, options.model.shape);
  for (double* part : {&needs.tables, &needs.history, &needs.rest}) *part *= ranks().neighbours();
  return needs;
}

void require_affordable(const Plan& plan, Step now, Step last) {
  if (last > now || now >= plan.steps) return;
  throw PrivacyError("epsilon is " + shortest(plan.budget->epsilon) +
                     ", which pays for not one more step with noise multiplier " +
                     shortest(plan.mechanism.noise_multiplier) + " after " + with_commas(now) +
                     " steps");
}

void require_memory_for(const RunOptions& options) {
  require_memory(needs_of(options), available_memory());
}

ReleasedModel release_run(const RunOptions& options, std::unique_ptr<Trainer> trainer,
                          PersistentRun& kept, const std::optional<Metrics>& metrics,
                          Progress& progress) {
  const Ledger spent = trainer->ledger();
  ReleasedModel model = release(std::move(trainer),
                                {.delta = options.delta,
                                 .shape = options.model.shape,
                                 .data = card_of(options.task),
                                 .metrics = metrics},
                                kept.folder, show_settled(options.model.shape, progress));
  if (kept.lifetime) kept.lifetime->publish(spent);
  model.write(kept.directory.model());
  return model;
}

void run_and_report(const RunOptions& options, const Output& output, PersistentRun* kept) {
  Progress progress = output.progress();
  const TrainingData task = load_data(options.task, options.model.shape);
  const Finished run = {options, train_run(options, task, progress, kept)};
  if (ranks().rank() != 0) return;
  const Claim& claim = run.result.claim;
  if (claim.holds && !options.plan.budget) warn_of_large_epsilon(claim.epsilon);
  if (kept != nullptr) {
    const Provenance from = Provenance::of_this_process();
    write_record(kept->directory.record(), run, from);
    write_text(kept->directory.report(),
               run_page(run, read_metrics_log(kept->directory.metrics()), from,
                        kept->keeping.beside.get()),
               kOwnerFile);
  }
  if (std::ostream* out = output.report()) print_report(*out, run);
  output.write(json_of(run.options, run.result));
}

RunResult train_run(const RunOptions& options, const TrainingData& task, Progress& progress,
                    PersistentRun* kept) {
  const ModelShape& shape = options.model.shape;
  const bool goes_on = kept != nullptr && kept->from != nullptr;
  progress.say((goes_on ? "reading " : "preparing ") +
               human_bytes(static_cast<double>(shape.table_bytes())) + " of tables for " +
               std::string(options.plan.recipe.name) + " ...");
  const bool trial = kept != nullptr && kept->trial;
  const Seed seed = goes_on ? kept->from->head().seed
                    : trial ? kept->trial->seed
                            : same_seed(options);
  TrainingRun run(options, *task.train, seed,
                  goes_on ? TrainingRun::Weights::zero : TrainingRun::Weights::initial,
                  kept != nullptr ? std::optional(kept->run()) : std::nullopt, ranks(),
                  goes_on ? "" : keep_initial_rows(options, kept));
  Trainer& trainer = *run.trainer;
  if (goes_on) kept->folder.restore(*kept->from, trainer);
  if (kept != nullptr) kept->from.reset();

  require_affordable(trainer.plan(), trainer.now(), trainer.last_step());
  if (kept != nullptr && kept->lifetime) kept->lifetime->reserve(trainer);
  RunResult result;
  progress.begin(std::string(options.plan.recipe.name), trainer.last_step(), trainer.now());
  const Stopwatch training;
  const InterruptWatch interrupts;  // lives until the trained state is saved
  if (kept != nullptr && kept->goes_on) {
    read_metrics_log(kept->directory.metrics());  // may be damaged as well
    kept->goes_on();
  }
  std::optional<MetricsLog> log;
  if (kept != nullptr && ranks().rank() == 0) {
    log.emplace(kept->directory.metrics(), kept->directory.events(), trainer.now(),
                options.plan.steps);
  }
  const int signal =
      take_steps(options, task, trainer, interrupts, progress, kept, log ? &*log : nullptr, result);
  result.seconds = training.seconds();
  const TrainingState state = trainer.state();
  if (state.storage.in_files()) result.file_bytes = state.storage.files().bytes();
  result.ranks = ranks().size();
  result.exchange = state.comm.times();
  state.comm.run([&](Communicator& all) { result.exchanged_bytes = all.traffic().bytes; });
  if (signal != 0) stop(trainer, kept, signal, progress);
  // After the steps each part runs to its end; the state that is saved holds its results.
  const auto stop_if_asked = [&] {
    const int asked = signal_of_any(interrupts, trainer);
    if (asked != 0) stop(trainer, kept, asked, progress);
  };
  stop_if_asked();
  result.steps = trainer.now();
  result.budget_spent = trainer.last_step() < options.plan.steps;

  const Stopwatch settling;
  const bool releases = kept == nullptr || kept->keeping.release;
  if (releases && !options.table_folder) trainer.settle_all(show_settled(shape, progress));
  result.settle_seconds = settling.seconds();
  stop_if_asked();

  const auto& file = options.task.file;
  calibrate_scores(trainer, {*task.train, file && file->units ? &*file->units : nullptr});
  result.score_scaling = trainer.score_scaling();
  stop_if_asked();

  if (task.held_out) {
    result.held_out =
        evaluate(trainer, *task.held_out, kAllExamples, judgement(options, task.held_out_group));
    stop_if_asked();
    if (log) log->evaluation(trainer.now(), result.held_out, "test", std::nullopt);
  }
  if (trial) kept->trial->score(trainer);
  result.bayes_auc = task.bayes_auc;
  result.bayes_logloss = task.bayes_logloss;
  result.claim = claim(trainer, options.delta);
  result.spent = trainer.ledger();
  result.microbatches = trainer.microbatches();
  result.table_bytes = shape.table_bytes();
  result.history_bytes = state.table_optimizer.bytes();
  result.threads = thread_count();
  if (kept != nullptr) leave(options, std::move(run.trainer), *kept, progress, result);
  progress.end();
  result.peak_rss_bytes = peak_resident_memory();
  return result;
}

}  // namespace lazydp::cli
