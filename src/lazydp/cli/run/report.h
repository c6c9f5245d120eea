#pragma once
// A training run's numbers for people, and what they may and may not conclude from them.

#include <ostream>
#include <string>
#include <vector>

#include "lazydp/cli/run/run.h"
#include "lazydp/cli/run/run_options.h"

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

}  // namespace lazydp::cli
