#pragma once
// Reports a training run, for people and for machines, and what may and may not be concluded from
// it.

#include <ostream>
#include <string>
#include <vector>

#include "lazydp/bench/step_times.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/run/run.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

struct Finished {
  RunOptions options;
  RunResult result;
};

// Prints one run in full.
void print_report(std::ostream& out, const Finished& run);

// Prints the released model's claim, and where its files are.
void print_release(std::ostream& out, const ReleasedModel& model, const std::string& folder);

// Prints several runs on the same task, side by side.
void print_comparison(std::ostream& out, const std::vector<Finished>& runs);

// Returns a training run's numbers for machines. NaN (there was nothing to measure) becomes null.
Json json_of(const RunOptions& options, const RunResult& result);

Json json_of(const StageTimes& stages);

}  // namespace lazydp::cli
