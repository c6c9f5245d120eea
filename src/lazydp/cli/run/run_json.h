#pragma once
// A training run's numbers for machines.

#include "lazydp/bench/step_times.h"
#include "lazydp/cli/run/run.h"
#include "lazydp/cli/run/run_options.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

// What is not a number (NaN: there was nothing to measure) is null in the file.
Json json_of(const RunOptions& options, const RunResult& result);

Json json_of(const StageTimes& stages);

// As --settle and --stages take them.
const char* settle_name(const Performance& performance);
const char* stages_name(const Performance& performance);

}  // namespace lazydp::cli
