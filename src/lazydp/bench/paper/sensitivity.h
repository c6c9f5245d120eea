#pragma once
// Compares SGD, LazyDP and DP-SGD(F) on variations of the default setting, with LazyDP's own
// overhead.

#include <string>
#include <vector>

#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/measurer.h"

namespace lazydp::paper {

struct Variation {
  std::string label;
  Setting setting;
};

// The ratio of DP-SGD(F)'s time to LazyDP's.
struct Outcome {
  double gain = 0.0;
  double far_gain = 0.0;  // extrapolated to the paper's tables
};

struct Study {
  Findings findings;                    // without comparisons
  std::vector<Outcome> outcomes;        // one for each variation in memory
  std::vector<double> overhead_shares;  // LazyDP's overhead / its step, by variation

  Outcome mean_outcome() const;
  std::string overheads() const;  // "8.9 % to 11.9 %"
};

// Measures every variation; one whose tables are larger than the run's largest has them in files,
// without DP-SGD(F). The first variation's tables must be in memory. The second chart shows
// DP-SGD(F) with the paper's tables, extrapolated.
Study study(Measurer& measurer, const std::string& title, const std::vector<Variation>& variations);

}  // namespace lazydp::paper
