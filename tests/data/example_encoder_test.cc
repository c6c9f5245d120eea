// Examples without a label are encoded as a data file of the schema has them.

#include "lazydp/data/example_encoder.h"

#include <gtest/gtest.h>

#include <array>

namespace lazydp {
namespace {

constexpr const char* kSchema = R"(
missing = ["?"]
[[column]]
name = "y"
role = "label"
positive = "1"
[[column]]
name = "age"
role = "dense"
transform = "none"
[[column]]
name = "user"
role = "categorical"
rows = 1000
[[column]]
name = "note"
[[column]]
name = "tags"
role = "multi"
separator = "|"
rows = 100000
)";

// The rows of "alice" and "68fd1e64" are those of another implementation of XXH3.
TEST(ExampleEncoder, EncodesWhatTheModelReadsAndNothingElse) {
  Schema schema = parse_schema(kSchema, "test");
  schema.columns[4].name = "C1";
  ExampleEncoder encoder(schema);
  std::string why;
  const std::array<TextValue, 5> first = {"no label", "2.5", "alice", "a note",
                                          "68fd1e64|?|68fd1e64"};
  const std::array<TextValue, 5> second = {};
  const std::array<TextValue, 5> listed = {std::nullopt, "?", "?", std::nullopt, "?|?"};
  ASSERT_TRUE(encoder.add(first, why)) << why;
  ASSERT_TRUE(encoder.add(second, why)) << why;
  ASSERT_TRUE(encoder.add(listed, why)) << why;
  Batch batch;
  encoder.take(batch);
  ASSERT_EQ(batch.size, 3u);
  EXPECT_EQ(batch.dense.row(0)[0], 2.5f);
  EXPECT_EQ(batch.dense.row(1)[0], 0.0f);
  EXPECT_EQ(batch.bags[0].ids, (std::vector<RowId>{789, 0, 0}));
  EXPECT_EQ(batch.bags[1].ids, (std::vector<RowId>{73235, 73235, 0, 0}));
  EXPECT_EQ(batch.bags[1].offsets, (std::vector<std::size_t>{0, 2, 3, 4}));
  EXPECT_EQ(encoder.size(), 0u) << "take() forgets";
}

TEST(ExampleEncoder, AddsNothingOfAnExampleThatCannotBeUsed) {
  ExampleEncoder encoder(parse_schema(kSchema, "test"));
  std::string why;
  EXPECT_FALSE(encoder.add(std::array<TextValue, 5>{"1", "old", "bob", "", "a|b"}, why));
  EXPECT_EQ(why, "age is 'old'; it must be a number");
  ASSERT_TRUE(encoder.add(std::array<TextValue, 5>{"1", "1", "alice", "", "a|b"}, why));
  Batch batch;
  encoder.take(batch);
  EXPECT_EQ(batch.size, 1u);
  EXPECT_EQ(batch.bags[0].ids, std::vector<RowId>{789});
}

TEST(ExampleEncoder, GivesAModelWithoutDenseColumnsOneFeatureThatIsOne) {
  Schema schema = parse_schema(kSchema, "test");
  schema.columns[1].role = Role::ignore;
  ExampleEncoder encoder(schema);
  std::string why;
  ASSERT_TRUE(encoder.add(std::array<TextValue, 5>{}, why));
  Batch batch;
  encoder.take(batch);
  ASSERT_EQ(batch.dense.cols(), 1u);
  EXPECT_EQ(batch.dense.row(0)[0], 1.0f);
}

}  // namespace
}  // namespace lazydp
