#pragma once
// LazyDP's own overhead done as the paper describes it: three passes, each timed.

#include "lazydp/bench/bench_options.h"

namespace lazydp::paper {

// In ms a step, of the threads that training has.
struct OverheadPasses {
  double duplicates_ms = 0.0;  // the distinct ids of each table
  double read_ms = 0.0;        // their histories, and the std that each is owed
  double write_ms = 0.0;       // their histories

  double total() const { return duplicates_ms + read_ms + write_ms; }
};

// On batches of this setting's model and task, with histories and a clock of their own. Means over
// so many batches after a first one.
OverheadPasses time_overhead_passes(const BenchOptions& options, Step batches);

}  // namespace lazydp::paper
