#pragma once
// Prefetches memory into the second-level cache.
//
// A core waits for at most two dozen lines on behalf of its first-level cache; the second level has
// room for more, and a prefetch into it retires sooner, so that arithmetic goes on behind it. A
// load from the second level then takes a few cycles. Measured on random rows of 128 bytes in 4 GB,
// two cores: 6.7 ns a row where the first level takes 10.6.

#include <cstddef>

namespace lazydp {

inline void prefetch(const void* place) {
  __builtin_prefetch(place, 0, 2);
  asm volatile("" : : "r"(place));  // else g++ drops loops that only prefetch
}

inline void prefetch_row(const float* row, std::size_t dim) {
  constexpr std::size_t kLine = 64 / sizeof(float);
  for (std::size_t i = 0; i < dim; i += kLine) prefetch(row + i);
}

}  // namespace lazydp
