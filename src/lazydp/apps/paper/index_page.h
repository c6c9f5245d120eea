#pragma once
// All experiments of a run on one page that needs nothing but itself.

#include <string>
#include <vector>

#include "lazydp/apps/paper/experiments.h"

namespace lazydp::apps::paper {

struct Done {
  const Experiment* experiment = nullptr;
  Findings findings;
  double seconds = 0.0;
};

// The command, the machine and the effort, in words.
std::string circumstances(const Effort& effort);

std::string index_page(const Effort& effort, const std::vector<Done>& done);

}  // namespace lazydp::apps::paper
