#pragma once
// Settings that several experiments share, so that each is measured once.

#include <array>
#include <vector>

#include "lazydp/bench/paper/measurer.h"

namespace lazydp::paper {

// Returns a setting in which all stages are timed apart, over `bytes` of tables.
inline Setting staged(const Measurer& measurer, double bytes) {
  Setting setting =
      measurer.standard({"sgd", "dpsgd-b", "dpsgd-r", "dpsgd-f", "lazydp-no-ans", "lazydp"});
  setting.table_bytes = bytes;
  setting.passes = NoisePasses::split;
  return setting;
}

// Returns the main comparison, with the fused kernels that training uses.
inline Setting contest(const Measurer& measurer, std::uint64_t batch) {
  Setting setting = measurer.standard({"sgd", "lazydp", "lazydp-no-ans", "dpsgd-f", "eana"});
  setting.batch = batch;
  return setting;
}

// Returns a variation of the default model, for SGD, LazyDP and DP-SGD(F).
inline Setting variation(const Measurer& measurer) {
  return measurer.standard({"sgd", "lazydp", "dpsgd-f"});
}

// Returns SGD and LazyDP with tables that do not fit into memory. DP-SGD(F) writes every row at
// every step and is left out.
inline Setting in_files(Setting of) {
  of.algorithms = {"sgd", "lazydp"};
  of.tables_in_files = true;
  return of;
}

// Returns LazyDP alone with its stages apart: its own overhead.
inline Setting own_overhead(Setting of) {
  of.algorithms = {"lazydp"};
  of.passes = NoisePasses::split;
  return of;
}

inline constexpr double kPaperBytes = 96.14e9;  // `mlperf` at full size: the paper's default
inline constexpr std::array kCharacterised = {96.14e6, 961.4e6, 9.614e9, kPaperBytes};

// Returns the paper's table sizes that are clearly below the run's largest, then the largest.
inline std::vector<double> sizes_to_measure(const Scale& scale) {
  constexpr double kClearly = 0.7;
  std::vector<double> sizes;
  for (const double bytes : kCharacterised) {
    if (bytes < kClearly * scale.table_bytes) sizes.push_back(bytes);
  }
  if (sizes.empty()) sizes.push_back(scale.table_bytes / 10);
  sizes.push_back(scale.table_bytes);
  return sizes;
}

}  // namespace lazydp::paper
