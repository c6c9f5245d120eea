// The hash never changes: later versions of the program read data files of earlier ones.

#include "lazydp/data/text/hash_row.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace lazydp {
namespace {

template <class Value>
std::uint32_t hash_row(Value value, std::uint64_t seed, std::uint64_t rows) {
  return hashed_row(hash_value(value, seed), rows);
}

// From another implementation of XXH3 (the Python package xxhash), written down once.
TEST(HashRow, IsTheHashThatItAlwaysWas) {
  EXPECT_EQ(hash_row<std::string_view>("68fd1e64", column_seed("C1", 0), 100'000), 73235u);
  EXPECT_EQ(hash_row<std::string_view>("68fd1e64", column_seed("C1", 7), 100'000), 91012u);
  EXPECT_EQ(hash_row<std::string_view>("alice", column_seed("user", 0), 1000), 789u);
  EXPECT_EQ(hash_row<std::string_view>("Fant\xc3\xb4mas", column_seed("genres", ~0ull), 1ull << 31),
            914850545u);
  EXPECT_EQ(hash_row<std::string_view>("", column_seed("x", 1), 5), 1u);
  EXPECT_EQ(hash_row(std::uint64_t{0x68fd1e64}, column_seed("C1", 0), 100'000), 77850u);
  EXPECT_EQ(hash_row(~std::uint64_t{0}, column_seed("time", 3), 10), 2u);
  EXPECT_EQ(hash_key("alice", column_seed("user", 0)), 16990161027152259374u);
}

TEST(HashRow, LeavesRowZeroToMissingValues) {
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t row = hash_row<std::string_view>(std::to_string(i), column_seed("c", 0), 3);
    EXPECT_TRUE(row == 1 || row == 2);
  }
  EXPECT_EQ(hash_row<std::string_view>("x", 1, 1), 0u);
}

// Chi-square over 100 rows of 100,000 values: 99 degrees of freedom, above 160 by chance with
// probability below 1e-4.
TEST(HashRow, SpreadsValuesEvenly) {
  constexpr std::size_t kRows = 100;
  constexpr int kValues = 100'000;
  std::vector<double> counts(kRows, 0.0);
  for (int i = 0; i < kValues; ++i) {
    counts[hash_row<std::string_view>("user-" + std::to_string(i), column_seed("u", 5), kRows + 1) -
           1] += 1.0;
  }
  double chi_square = 0.0;
  for (const double count : counts) chi_square += std::pow(count - 1000.0, 2) / 1000.0;
  EXPECT_LT(chi_square, 160.0);
}

}  // namespace
}  // namespace lazydp
