#pragma once
// An entry of a row file's index: which row a place holds, and since when.

#include <cstdint>

namespace lazydp {

struct RowRecord {
  std::uint64_t row = 0;
  std::uint32_t epoch = 0;  // 0: the place is empty
  std::uint32_t seal = 0;
};
static_assert(sizeof(RowRecord) == 16);

// Of an entry in its place: bits that rot, and entries that change places, are noticed.
inline std::uint32_t seal_of(std::uint64_t place, std::uint64_t row, std::uint32_t epoch) {
  std::uint64_t x = (row ^ place << 24) + epoch * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return static_cast<std::uint32_t>(x >> 32);
}

}  // namespace lazydp
