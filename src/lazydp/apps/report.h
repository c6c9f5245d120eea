#pragma once
// A training run's numbers for people, and what they may and may not conclude from them.

#include <ostream>
#include <string>
#include <vector>

#include "lazydp/apps/run.h"
#include "lazydp/apps/run_options.h"

namespace lazydp::apps {

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

}  // namespace lazydp::apps
