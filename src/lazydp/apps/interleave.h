#pragma once
// Steps of several algorithms taken in turn, in one process, on the same weights.

#include <limits>
#include <vector>

#include "lazydp/apps/bench_options.h"
#include "lazydp/apps/progress.h"
#include "lazydp/apps/step_times.h"
#include "lazydp/apps/task.h"

namespace lazydp::apps {

struct Measured {
  Recipe recipe;
  StepTimes times;
  std::size_t history_bytes = 0;
  // Steps for which the rows that a step reads had waited, on average, when the rounds began; NaN
  // where rows never wait.
  double lateness = std::numeric_limits<double>::quiet_NaN();
};

// Every contender has a clock, a history and batches of its own. A round is one step of each, in
// an order that changes from round to round; the first rounds warm up and are not counted.
std::vector<Measured> interleave(const BenchOptions& options, const Task& task, Progress& progress);

}  // namespace lazydp::apps
