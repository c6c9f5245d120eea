#pragma once
// The scale of a run of the paper's experiments: minutes on any machine, or hours on this one.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "lazydp/base/types.h"

namespace lazydp::paper {

struct Scale {
  std::string_view name;
  double table_bytes;               // tables of the default model; 0: three quarters of free memory
  std::array<double, 4> far_bytes;  // the paper's tables that may exceed memory; in files
  std::array<std::uint64_t, 3> batches;  // the paper's are 1024, 2048 (its default) and 4096
  Step rounds;
  Step warmup;
  std::uint64_t audit_runs;
  Step leak_steps;            // steps that EANA and LazyDP train before untouched rows are counted
  std::size_t vector_floats;  // length of the array that the throughput benchmark streams over
  std::uint64_t law_rows;     // rows of the tables whose noise is tested

  std::uint64_t batch() const { return batches[1]; }
};

// A minute, a quarter of an hour, or the largest scale that this machine allows.
enum class ScaleName : std::uint8_t { smoke, quick, full };

// Returns a scale, with tables of `table_bytes` if given. Throws UserError for tables that do not
// fit into this machine's memory.
Scale scale_of(ScaleName name, std::optional<double> table_bytes);

}  // namespace lazydp::paper
