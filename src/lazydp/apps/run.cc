#include "lazydp/apps/run.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include "lazydp/apps/memory_needs.h"
#include "lazydp/apps/number_text.h"
#include "lazydp/apps/session.h"
#include "lazydp/base/parallel.h"
#include "lazydp/base/system_memory.h"

namespace lazydp::apps {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The mean loss of a run's last tenth; empty batches have none.
class FinalLoss {
 public:
  explicit FinalLoss(Step steps) : after_(steps - std::max<Step>(1, steps / 10)) {}

  void add(const StepReport& report) {
    if (report.step <= after_ || std::isnan(report.mean_loss)) return;
    sum_ += report.mean_loss;
    count_ += 1.0;
  }
  double mean() const { return count_ > 0.0 ? sum_ / count_ : kNone; }

 private:
  Step after_;
  double sum_ = 0.0;
  double count_ = 0.0;
};

std::string in_words(Step step, const Metrics& metrics) {
  return "  step " + with_commas(step) + ": held-out AUC " + fixed(metrics.auc, 4) + ", log-loss " +
         fixed(metrics.logloss, 4);
}

void take_steps(const RunOptions& options, const Task& task, Trainer& trainer, Progress& progress,
                RunResult& result) {
  const auto epsilon_if_released_now = [&] {
    const Claim now = claim(trainer, options.delta, options.accountant);
    return now.holds ? now.epsilon : kNone;
  };
  const Step steps = options.plan.steps;
  FinalLoss loss(steps);
  for (Step t = 1; t <= steps; ++t) {
    const StepReport& report = trainer.step();
    result.times.add(report);
    loss.add(report);
    progress.step(report, epsilon_if_released_now);
    if (options.eval_every > 0 && t % options.eval_every == 0 && t < steps) {
      progress.say(in_words(t, evaluate(trainer, *task.held_out)));
    }
  }
  result.loss = loss.mean();
}

void settle_everything(const ModelShape& shape, Trainer& trainer, Progress& progress) {
  std::uint64_t done = 0;
  trainer.settle_all([&](std::uint64_t rows) {
    done += rows;
    progress.settled(done, shape.total_rows());
  });
}

}  // namespace

void require_memory_for(const RunOptions& options) {
  const Recipe& recipe = options.plan.recipe;
  require_memory(
      memory_needs(options.model.shape, {&recipe, 1}, options.plan.weight_decay,
                   options.performance, options.batch, options.plan.steps, options.task.bytes()),
      available_memory());
}

RunResult train_run(const RunOptions& options, const Task& task, Progress& progress) {
  const ModelShape& shape = options.model.shape;
  progress.say("preparing " + human_bytes(static_cast<double>(shape.table_bytes())) +
               " of tables for " + std::string(options.plan.recipe.name) + " ...");
  const Seed seed = make_seed(options.seed);
  Session session(shape, seed);
  const auto sampler = make_sampler(options.sampling, seed, task.train->size(),
                                    options.plan.mechanism.sampling_rate, options.batch);
  Trainer trainer(options.plan, options.performance, seed, session.model, shape.mode,
                  session.tables, *task.train, *sampler);

  RunResult result;
  progress.begin(std::string(options.plan.recipe.name), options.plan.steps);
  const Stopwatch training;
  take_steps(options, task, trainer, progress, result);
  result.seconds = training.seconds();

  const Stopwatch settling;
  settle_everything(shape, trainer, progress);
  result.settle_seconds = settling.seconds();

  result.held_out = {.auc = kNone, .logloss = kNone};
  if (task.held_out) result.held_out = evaluate(trainer, *task.held_out);
  progress.end();

  result.bayes_auc = task.bayes_auc;
  result.bayes_logloss = task.bayes_logloss;
  result.claim = claim(trainer, options.delta, options.accountant);
  result.microbatches = trainer.microbatches();
  result.table_bytes = shape.table_bytes();
  result.history_bytes = trainer.updates().bytes();
  result.peak_rss_bytes = peak_resident_memory();
  result.threads = thread_count();
  return result;
}

}  // namespace lazydp::apps
