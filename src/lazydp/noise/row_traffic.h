#pragma once
// How many rows of tables a step reads and writes.

#include <cstdint>

namespace lazydp {

// Row accesses of tables.
struct RowTraffic {
  std::uint64_t read = 0;
  std::uint64_t written = 0;
};

}  // namespace lazydp
