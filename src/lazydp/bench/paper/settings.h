#pragma once
// Settings that several experiments share, so that they are measured once.

#include "lazydp/bench/paper/measurer.h"

namespace lazydp::paper {

// All stages timed apart, over `bytes` of tables.
inline Setting staged(const Lab& lab, double bytes) {
  Setting setting =
      lab.standard({"sgd", "dpsgd-b", "dpsgd-r", "dpsgd-f", "lazydp-no-ans", "lazydp"});
  setting.table_bytes = bytes;
  setting.kernels = Kernels::split;
  return setting;
}

// The contest itself, with the kernels that people train with.
inline Setting contest(const Lab& lab, std::uint64_t batch) {
  Setting setting = lab.standard({"sgd", "lazydp", "lazydp-no-ans", "dpsgd-f", "eana"});
  setting.batch = batch;
  return setting;
}

// A variation of the default model, for SGD, LazyDP and DP-SGD(F).
inline Setting variation(const Lab& lab) {
  return lab.standard({"sgd", "lazydp", "dpsgd-f"});
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
  of.kernels = Kernels::split;
  return of;
}

}  // namespace lazydp::paper
