#pragma once
// The few small types that all folders share.

#include <cstddef>
#include <cstdint>

namespace lazydp {

using Step = std::uint32_t;     // 1 is the first training step; 0 means "before training"
using RowId = std::int64_t;     // row number within one table
using TableId = std::uint16_t;  // which table of a model

// A range of neighbouring places of an array.
struct IndexRange {
  std::size_t first = 0;  // the first place
  std::size_t count = 0;  // how many places
  // Equal if both fields are.
  bool operator==(const IndexRange&) const = default;
};

}  // namespace lazydp
