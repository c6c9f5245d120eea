#pragma once
// All experiments of a run on one page that needs nothing but itself.

#include <string>
#include <vector>

#include "lazydp/bench/paper/experiments.h"

namespace lazydp::paper {

struct Done {
  const Experiment* experiment = nullptr;
  Findings findings;
  double seconds = 0.0;
};

// The command, the machine and the effort, in words.
std::string circumstances(const Effort& effort);

std::string index_page(const Effort& effort, const std::vector<Done>& done);

}  // namespace lazydp::paper
