#pragma once
// SGD, LazyDP and DP-SGD(F) on variations of the default setting, with LazyDP's own overhead.

#include <string>
#include <vector>

#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/measurer.h"

namespace lazydp::paper {

struct Variation {
  std::string label;
  Setting setting;
};

// How many times longer DP-SGD(F) takes than LazyDP.
struct Outcome {
  double gain = 0.0;
  double far_gain = 0.0;  // extrapolated to the paper's tables
};

struct Study {
  Findings findings;                    // without comparisons
  std::vector<Outcome> outcomes;        // of variations in memory
  std::vector<double> overhead_shares;  // of LazyDP's steps, what is its own; of all variations

  double mean_gain() const;
  double mean_far_gain() const;
  std::string overheads() const;  // "8.9 % to 11.9 %"
};

// Measures every variation; one whose tables are larger than the run's largest has them in files,
// without DP-SGD(F). The first variation's are in memory. The second picture has DP-SGD(F)
// with the paper's tables, extrapolated.
Study study(Measurer& measurer, const std::string& title, const std::vector<Variation>& variations);

}  // namespace lazydp::paper
