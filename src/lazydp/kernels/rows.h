#pragma once
// Pools bags of rows, and adds a bag's gradient to its rows.

#include <cstddef>
#include <cstdint>
#include <span>

namespace lazydp {

// Consecutive bags of row numbers: bag b is ids[offsets[b]] … ids[offsets[b + 1] - 1]. `weights`
// may be null: all ones. With `mean`, each bag's weights are divided by its length.
struct BagList {
  const std::int64_t* ids = nullptr;
  const std::size_t* offsets = nullptr;
  const float* weights = nullptr;
  std::size_t bags = 0;
  bool mean = false;
};

// Writes to out + b * stride the sum over bag b of weight x row.
void pool_rows(const float* table, std::size_t dim, const BagList& bags, float* out,
               std::size_t stride);

// Adds factor x weight x (gradient + b * stride) to every row of bag b that satisfies `(row >> 4) %
// shares == share`, occurrences in the order of the bags. Returns the number of additions.
std::uint64_t add_to_rows(float* table, std::size_t dim, const BagList& bags, const float* gradient,
                          std::size_t stride, float factor, std::size_t share, std::size_t shares);

}  // namespace lazydp
