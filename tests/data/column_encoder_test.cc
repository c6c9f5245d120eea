// A value has one meaning, whatever reads it; the hash never changes, because later versions of the
// program read data files of earlier ones.

#include "lazydp/data/column_encoder.h"

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

const char* const kSchema = R"(header = false
separator = ","
[[column]]
name = "y"
role = "label"
positive = ["1"]
[[column]]
name = "user"
role = "categorical"
rows = 1000
[[column]]
name = "time"
role = "categorical"
rows = 100
bucket = 10
[[column]]
name = "tags"
role = "multi"
rows = 50
separator = "|"
)";

// A reader that has no lines asks for a row by itself: a server that scores, for one.
TEST(ColumnEncoder, FindsTheRowsThatADataFileHas) {
  const Schema schema = parse_schema(kSchema, "here");
  const std::vector<ColumnEncoder> encoders = ColumnEncoder::all(schema);
  ASSERT_EQ(encoders.size(), 4u);
  std::uint32_t row = 0;
  std::string why;
  ASSERT_TRUE(encoders[1].find_row("alice", row, why));
  EXPECT_EQ(row, 789u);  // as above
  ASSERT_TRUE(encoders[2].find_row("25.5", row, why));
  EXPECT_EQ(row, hash_row(std::uint64_t{2}, column_seed("time", 0), 100));
  EXPECT_FALSE(encoders[2].find_row("late", row, why));
  EXPECT_EQ(why, "time is 'late'; it must be a number");
}

TEST(ColumnEncoder, TellsWhichTableWasAskedForWhat) {
  const Schema schema = parse_schema(kSchema, "here");
  const std::vector<ColumnEncoder> encoders = ColumnEncoder::all(schema);
  Records records{RecordLayout(schema)};
  std::vector<Lookup> lookups;
  std::string why;
  records.begin();
  ASSERT_TRUE(encoders[0].encode("1", records, why, &lookups));
  ASSERT_TRUE(encoders[1].encode("alice", records, why, &lookups));
  ASSERT_TRUE(encoders[3].encode("a|b", records, why, &lookups));
  ASSERT_EQ(lookups.size(), 3u);
  EXPECT_EQ(lookups[0].table, 0u);
  EXPECT_EQ(lookups[0].hash, hash_value(std::string_view("alice"), column_seed("user", 0)));
  EXPECT_EQ(lookups[2].table, 2u);
  EXPECT_EQ(lookups[2].hash, hash_value(std::string_view("b"), column_seed("tags", 0)));
}

}  // namespace
}  // namespace lazydp
