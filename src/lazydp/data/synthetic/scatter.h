#pragma once
// Which row of a table has which rank among the looked-up.

#include <cstdint>
#include <numbers>
#include <numeric>

#include "lazydp/base/types.h"

namespace lazydp {

// Spreads ranks over the rows by a bijection: multiplication modulo rows. With the golden ratio of
// the rows as multiplier the hottest k rows, for any k, lie about rows / k apart.
class Scatter {
 public:
  explicit Scatter(std::uint64_t rows)
      : rows_(rows),
        multiplier_(static_cast<std::uint64_t>(static_cast<double>(rows) / std::numbers::phi)) {
    while (std::gcd(multiplier_, rows_) != 1) ++multiplier_;
  }
  RowId operator()(std::uint64_t rank) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<RowId>(Wide{rank} * multiplier_ % rows_);
  }

 private:
  std::uint64_t rows_;
  std::uint64_t multiplier_;
};

}  // namespace lazydp
