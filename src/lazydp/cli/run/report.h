#pragma once
// A training run's numbers for people, and what they may and may not conclude from them.

#include <ostream>
#include <string>
#include <vector>

#include "lazydp/bench/step_times.h"
#include "lazydp/cli/run/run.h"
#include "lazydp/cli/run/run_options.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

struct Finished {
  RunOptions options;
  RunResult result;
};

// One run, in full.
void print_report(std::ostream& out, const Finished& run);

// What was released, and where it lies.
void print_release(std::ostream& out, const ReleasedModel& model, const std::string& folder);

// Several runs on the same task, side by side.
void print_comparison(std::ostream& out, const std::vector<Finished>& runs);

// report.html: a run at a glance, in one file that needs nothing else.

// `log` are the lines of metrics.jsonl. Everything but the claim comes from private data: the page
// is as secret as they are, and says so.
std::string run_page(const Finished& run, const std::vector<Json>& log);

// A training run's numbers for machines.

// What is not a number (NaN: there was nothing to measure) is null in the file.
Json json_of(const RunOptions& options, const RunResult& result);

Json json_of(const StageTimes& stages);

}  // namespace lazydp::cli
