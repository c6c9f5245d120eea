#pragma once
// A share of a table's rows, so that several threads can work on one table without meeting.

#include <cstddef>
#include <cstdint>

#include "lazydp/base/types.h"

namespace lazydp {

// Sixteen neighbouring rows (a cache line of history) belong to one share. Whoever works on a share
// sees all ids and leaves those of others alone, so a row's updates keep their order and the result
// does not depend on the number of shares.
struct Share {
  std::size_t index = 0;
  std::size_t count = 1;

  bool owns(RowId row) const {
    return count == 1 || (static_cast<std::uint64_t>(row) >> 4) % count == index;
  }
};

}  // namespace lazydp
