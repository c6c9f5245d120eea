#pragma once
// How much of the paper's experiments a run takes on: minutes on any machine, or hours on this one.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lazydp/base/types.h"
#include "lazydp/cli/flags.h"

namespace lazydp::paper {

struct Effort {
  std::string_view name;
  double table_bytes;                    // of the default model; 0: three quarters of free memory
  std::array<double, 4> far_bytes;       // tables that the paper has and memory may not; in files
  std::array<std::uint64_t, 3> batches;  // the paper's are 1024, 2048 (its default) and 4096
  Step rounds;
  Step warmup;
  std::uint64_t audit_runs;
  Step leak_steps;            // that EANA and LazyDP train before untouched rows are counted
  std::size_t vector_floats;  // of the array that the throughput benchmark streams over
  std::uint64_t law_rows;     // of the tables whose noise is tested

  std::uint64_t batch() const { return batches[1]; }
};

// What --smoke, --quick and --max-table-gb say; neither is the full run. UserError for tables that
// cannot be in this machine's memory.
Effort choose_effort(const Given& given);

}  // namespace lazydp::paper
