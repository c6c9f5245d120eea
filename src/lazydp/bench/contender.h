#pragma once
// One algorithm whose steps are timed beside those of others.

#include <cstdint>
#include <limits>
#include <memory>

#include "lazydp/bench/bench_options.h"
#include "lazydp/cli/run/task.h"
#include "lazydp/cli/run/training_run.h"
#include "lazydp/data/sampler.h"
#include "lazydp/random/seed.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

struct Contender {
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<Trainer> trainer;
  // Steps for which the rows that a step reads have waited, on average; NaN where they never wait.
  double lateness = std::numeric_limits<double>::quiet_NaN();
};

// Has a clock, a history and batches of its own, and weights in common with the session's others;
// its rows are as late as in a long run. `number` tells contenders apart.
Contender make_contender(const BenchOptions& options, const Task& task, const Recipe& recipe,
                         const Seed& seed, std::uint64_t number, Session& session);

}  // namespace lazydp
