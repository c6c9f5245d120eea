#include "lazydp/embedding/storage/row_record.h"

#include <xxhash.h>

namespace lazydp {

std::uint64_t seal_of(std::uint64_t place, const RowRecord& record, std::span<const float> values) {
  std::uint64_t x = (std::uint64_t{record.row} << 32 | record.epoch) + place * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) + XXH3_64bits(values.data(), values.size_bytes());
  x = (x ^ x >> 31) * 0x94d049bb133111ebu;
  return x ^ x >> 29;
}

}  // namespace lazydp
