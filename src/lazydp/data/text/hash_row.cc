#include "lazydp/data/text/hash_row.h"

#define XXH_INLINE_ALL  // values are a few bytes: a call would cost as much as the hash
#include <xxhash.h>

#include <algorithm>

namespace lazydp {
std::uint64_t column_seed(std::string_view column, std::uint64_t salt) {
  return XXH3_64bits_withSeed(column.data(), column.size(), salt);
}

std::uint64_t hash_value(std::string_view value, std::uint64_t seed) {
  return XXH3_64bits_withSeed(value.data(), value.size(), seed);
}

std::uint64_t hash_value(std::uint64_t value, std::uint64_t seed) {
  return XXH3_64bits_withSeed(&value, sizeof value, seed);
}

// Uniform to within rows / 2^64, and without a division.
std::uint32_t hashed_row(std::uint64_t hash, std::uint64_t rows) {
  __extension__ using Wide = unsigned __int128;
  if (rows == 1) return 0;
  return 1 + static_cast<std::uint32_t>((Wide{hash} * (rows - 1)) >> 64);
}

std::uint64_t hash_key(std::string_view value, std::uint64_t seed) {
  constexpr std::uint64_t kKeys = 0x9e3779b97f4a7c15u;  // separates keys from the hash to rows
  return std::max<std::uint64_t>(1, XXH3_64bits_withSeed(value.data(), value.size(), seed ^ kKeys));
}

}  // namespace lazydp
