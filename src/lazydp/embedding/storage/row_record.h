#pragma once
// An entry of a row file's index: which row a place holds, since when, and what its bytes were.

#include <cstdint>
#include <span>

namespace lazydp {

struct RowRecord {
  std::uint32_t row = 0;
  std::uint32_t epoch = 0;  // 0: the place is empty
  std::uint64_t seal = 0;   // seal_of() when the epoch was flushed; 0 before
};
static_assert(sizeof(RowRecord) == 16);

// Of an entry in its place, and of the row there: bits that rot in either, and entries that change
// places, are noticed (but for one in 2^64).
std::uint64_t seal_of(std::uint64_t place, const RowRecord& record, std::span<const float> values);

}  // namespace lazydp
