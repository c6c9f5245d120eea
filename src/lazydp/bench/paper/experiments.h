#pragma once
// The paper's experiments, one file each.

#include <span>
#include <string_view>

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

}  // namespace lazydp::paper
