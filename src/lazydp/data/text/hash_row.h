#pragma once
// From values to rows: a public hash, the same on every machine and for ever.

#include <cstdint>
#include <string_view>

namespace lazydp {

// Every column has a hash of its own, under the same salt.
std::uint64_t column_seed(std::string_view column, std::uint64_t salt);

// What stands for a value: no two that anybody has seen collide.
std::uint64_t hash_value(std::string_view value, std::uint64_t seed);
std::uint64_t hash_value(std::uint64_t value, std::uint64_t seed);

// Row 0 is for missing values and is hashed to by none, unless it is the only one.
std::uint32_t hashed_row(std::uint64_t hash, std::uint64_t rows);

// Who somebody is, for splits and privacy units; never 0, which means nobody.
std::uint64_t hash_key(std::string_view value, std::uint64_t seed);

}  // namespace lazydp
