#pragma once
// Steps of several algorithms taken in turn, in one process, on the same weights.

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "lazydp/bench/bench_options.h"
#include "lazydp/bench/step_times.h"
#include "lazydp/data/samplers.h"
#include "lazydp/data/training_data.h"
#include "lazydp/random/seed.h"
#include "lazydp/report/progress.h"
#include "lazydp/train/model_and_tables.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// One algorithm whose steps are timed beside those of others.

struct Contender {
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<Trainer> trainer;
  // Steps for which the rows that a step reads have waited, on average; NaN where they never wait.
  double lateness = std::numeric_limits<double>::quiet_NaN();
};

// Has a clock, a history and batches of its own, and weights in common with the model_and_tables's
// others; its rows are as late as in a long run. `number` tells contenders apart.
Contender make_contender(const BenchOptions& options, const TrainingData& task,
                         const Recipe& recipe, const Seed& seed, std::uint64_t number,
                         ModelAndTables& model_and_tables);

// Over all counted steps of one contender.
struct Spent {
  double wall_seconds = 0.0;  // by a watch of its own, that knows nothing of stages
  double cpu_seconds = 0.0;   // of all threads
  double joules = 0.0;        // of the whole machine; NaN where it has no counters that we may read

  Spent& operator+=(const Spent& more) {
    wall_seconds += more.wall_seconds;
    cpu_seconds += more.cpu_seconds;
    joules += more.joules;
    return *this;
  }
};

struct Measured {
  Recipe recipe;
  StepTimes times;
  Spent spent;
  std::size_t history_bytes = 0;
  // Steps for which the rows that a step reads had waited, on average, when the rounds began; NaN
  // where rows never wait.
  double lateness = std::numeric_limits<double>::quiet_NaN();
};

// Every contender has a clock, a history and batches of its own. A round is one step of each, in
// an order that changes from round to round; the first rounds warm up and are not counted.
std::vector<Measured> interleave(const BenchOptions& options, const TrainingData& task,
                                 Progress& progress);

}  // namespace lazydp
