#pragma once
// Settings that several experiments share, so that they are measured once.

#include <array>
#include <vector>

#include "lazydp/bench/paper/measurer.h"

namespace lazydp::paper {

// All stages timed apart, over `bytes` of tables.
inline Setting staged(const Measurer& measurer, double bytes) {
  Setting setting =
      measurer.standard({"sgd", "dpsgd-b", "dpsgd-r", "dpsgd-f", "lazydp-no-ans", "lazydp"});
  setting.table_bytes = bytes;
  setting.kernels = NoisePasses::split;
  return setting;
}

// The contest itself, with the kernels that people train with.
inline Setting contest(const Measurer& measurer, std::uint64_t batch) {
  Setting setting = measurer.standard({"sgd", "lazydp", "lazydp-no-ans", "dpsgd-f", "eana"});
  setting.batch = batch;
  return setting;
}

// A variation of the default model, for SGD, LazyDP and DP-SGD(F).
inline Setting variation(const Measurer& measurer) {
  return measurer.standard({"sgd", "lazydp", "dpsgd-f"});
}

// SGD and LazyDP with tables that memory does not hold. DP-SGD(F) writes every row at every step
// and can't.
inline Setting in_files(Setting of) {
  of.algorithms = {"sgd", "lazydp"};
  of.tables_in_files = true;
  return of;
}

// LazyDP alone with its stages apart: what it adds to a step.
inline Setting own_overhead(Setting of) {
  of.algorithms = {"lazydp"};
  of.kernels = NoisePasses::split;
  return of;
}

// The table sizes of the paper's figures, and which of them this run takes on.

inline constexpr double kPaperBytes = 96.14e9;  // of `mlperf` at full size: the paper's default
inline constexpr std::array kCharacterised = {96.14e6, 961.4e6, 9.614e9, kPaperBytes};

// The characterised sizes that are clearly below the run's largest, then that one.
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
