#pragma once
// The paper's experiments, one file each.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/measurer.h"

namespace lazydp::paper {

struct Experiment {
  std::string_view name;   // on the command line, and of its files
  std::string_view title;  // what is shown
  std::string_view where;  // in the paper
  Findings (*run)(Lab& lab);
};

std::span<const Experiment> experiments();  // in the paper's order

Findings time_breakdown(Lab& lab);
Findings table_accesses(Lab& lab);
Findings update_breakdown(Lab& lab);
Findings vector_throughput(Lab& lab);
Findings reductions(Lab& lab);
Findings end_to_end(Lab& lab);
Findings lazydp_breakdown(Lab& lab);
Findings energy(Lab& lab);
Findings memory_overhead(Lab& lab);
Findings table_size(Lab& lab);
Findings pooling(Lab& lab);
Findings models(Lab& lab);
Findings skew(Lab& lab);
Findings eana(Lab& lab);
Findings equivalence(Lab& lab);

// All experiments of a run on one page that needs nothing but itself.

struct Done {
  const Experiment* experiment = nullptr;
  Findings findings;
  double seconds = 0.0;
};

// The command, the machine and the effort, in words.
std::string circumstances(const Effort& effort);

std::string index_page(const Effort& effort, const std::vector<Done>& done);

}  // namespace lazydp::paper
