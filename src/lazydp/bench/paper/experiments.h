#pragma once
// The paper's experiments, one file each, and the page that shows all of them.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/measurer.h"

namespace lazydp::paper {

struct Experiment {
  std::string_view name;   // on the command line, and prefix of its files
  std::string_view title;  // what is shown
  std::string_view where;  // figure or table of the paper
  Findings (*run)(Measurer& measurer);
};

std::span<const Experiment> experiments();  // in the paper's order

Findings time_breakdown(Measurer& measurer);
Findings table_accesses(Measurer& measurer);
Findings update_breakdown(Measurer& measurer);
Findings vector_throughput(Measurer& measurer);
Findings reductions(Measurer& measurer);
Findings end_to_end(Measurer& measurer);
Findings lazydp_breakdown(Measurer& measurer);
Findings energy(Measurer& measurer);
Findings memory_overhead(Measurer& measurer);
Findings table_size(Measurer& measurer);
Findings pooling(Measurer& measurer);
Findings models(Measurer& measurer);
Findings skew(Measurer& measurer);
Findings eana(Measurer& measurer);
Findings equivalence(Measurer& measurer);

// A finished experiment.
struct Done {
  const Experiment* experiment = nullptr;
  Findings findings;
  double seconds = 0.0;
};

// Returns the command, the machine and the scale, in words.
std::string circumstances(const Scale& scale);

std::string index_page(const Scale& scale, const std::vector<Done>& done);

}  // namespace lazydp::paper
