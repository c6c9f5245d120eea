#pragma once
// Maps values to rows by a public hash that is the same on every machine and never changes.

#include <cstdint>
#include <string_view>

namespace lazydp {

// Returns the seed of a column's own hash under the salt.
std::uint64_t column_seed(std::string_view column, std::uint64_t salt);

// Returns the hash that stands for a value; collisions are negligible.
std::uint64_t hash_value(std::string_view value, std::uint64_t seed);
std::uint64_t hash_value(std::uint64_t value, std::uint64_t seed);

// Returns the row of a hash. Row 0 is reserved for missing values, unless it is the only one.
std::uint32_t hashed_row(std::uint64_t hash, std::uint64_t rows);

// Returns the hash of a key column's value, for splits and privacy units. Never 0: 0 means that the
// example has no key.
std::uint64_t hash_key(std::string_view value, std::uint64_t seed);

}  // namespace lazydp
