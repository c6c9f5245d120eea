#pragma once
// One training run from first weights to final numbers.

#include <cstdint>

#include "lazydp/apps/progress.h"
#include "lazydp/apps/run_options.h"
#include "lazydp/apps/step_times.h"
#include "lazydp/apps/task.h"
#include "lazydp/train/claim.h"
#include "lazydp/train/evaluation.h"

namespace lazydp::apps {

// Everything but `claim` is computed from the data, and so is no part of what may be published.
struct RunResult {
  StepTimes times;
  double seconds = 0.0;         // the steps, from the first to the last
  double settle_seconds = 0.0;  // all rows catching up at the end
  double loss = 0.0;            // mean over the last tenth of the steps
  Metrics held_out;             // NaN where nothing was held out
  double bayes_auc = 0.0;
  double bayes_logloss = 0.0;
  Claim claim;
  Microbatches microbatches;
  std::uint64_t table_bytes = 0;
  std::uint64_t history_bytes = 0;
  std::uint64_t peak_rss_bytes = 0;
  int threads = 0;
};

// Throws UserError if the run does not fit into the memory there is.
void require_memory_for(const RunOptions& options);

// The caller has made sure of the memory.
RunResult train_run(const RunOptions& options, const Task& task, Progress& progress);

}  // namespace lazydp::apps
