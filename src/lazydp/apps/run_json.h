#pragma once
// A training run's numbers for machines.

#include "lazydp/apps/run.h"
#include "lazydp/apps/run_options.h"
#include "lazydp/apps/step_times.h"
#include "lazydp/train/json.h"

namespace lazydp::apps {

// What is not a number (NaN: there was nothing to measure) is null in the file.
Json json_of(const RunOptions& options, const RunResult& result);

Json json_of(const StageTimes& stages);

// As --settle and --stages take them.
const char* settle_name(const Performance& performance);
const char* stages_name(const Performance& performance);

}  // namespace lazydp::apps
