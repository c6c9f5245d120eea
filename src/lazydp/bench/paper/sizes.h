#pragma once
// The table sizes of the paper's figures, and which of them this run takes on.

#include <array>
#include <vector>

#include "lazydp/bench/paper/measurer.h"

namespace lazydp::paper {

inline constexpr double kPaperBytes = 96.14e9;  // of `mlperf` at full size: the paper's default
inline constexpr std::array kCharacterised = {96.14e6, 961.4e6, 9.614e9, kPaperBytes};

// The characterised sizes that are clearly below the run's largest, then that one.
inline std::vector<double> sizes_to_measure(const Effort& effort) {
  constexpr double kClearly = 0.7;
  std::vector<double> sizes;
  for (const double bytes : kCharacterised) {
    if (bytes < kClearly * effort.table_bytes) sizes.push_back(bytes);
  }
  if (sizes.empty()) sizes.push_back(effort.table_bytes / 10);
  sizes.push_back(effort.table_bytes);
  return sizes;
}

}  // namespace lazydp::paper
