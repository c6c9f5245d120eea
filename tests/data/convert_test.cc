// Lines of text become the right examples.

#include "lazydp/data/text/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "lazydp/base/parallel.h"
#include "lazydp/data/column_encoder.h"
#include "lazydp/data/schema.h"
#include "tests/data/converting.h"
#include "tests/data/packing.h"

namespace lazydp {
namespace {

template <class Value>
std::uint32_t hash_row(Value value, std::uint64_t seed, std::uint64_t rows) {
  return hashed_row(hash_value(value, seed), rows);
}

TEST_F(Converting, MakesAnExampleOfALine) {
  run("alice, 41.5, a|b||a, yes, 125.5\n?,-3,,no,?\n");
  const Batch batch = read();
  ASSERT_EQ(batch.size, 2u);
  EXPECT_EQ(batch.labels, (std::vector<float>{1.0f, 0.0f}));
  EXPECT_FLOAT_EQ(batch.dense.row(0)[0], static_cast<float>(std::log(42.5)));
  EXPECT_EQ(batch.dense.row(1)[0], 0.0f);
  const std::uint64_t tags = column_seed("tags", 0);
  const RowId a = hash_row<std::string_view>("a", tags, 50);
  const RowId b = hash_row<std::string_view>("b", tags, 50);
  EXPECT_EQ(batch.bags[0].ids, (std::vector<RowId>{789, 0}));  // known from column_encoder_test
  EXPECT_EQ(batch.bags[1].ids, (std::vector<RowId>{a, b, a, 0}));
  EXPECT_EQ(batch.bags[2].ids[0], RowId{hash_row(std::uint64_t{2}, column_seed("time", 0), 100)});
  EXPECT_EQ(batch.bags[2].ids[1], 0);
  const DataFile data(path("out"));
  EXPECT_EQ(data.key_of(0, 0), hash_key("alice", column_seed("user", 0)));
  EXPECT_EQ(data.key_of(1, 0), 0u);
}

TEST_F(Converting, TakesQuotesAndNumbersAsPeopleWriteThem) {
  run("\"alice\" ,\"1e1\",\"a,b|c \"\"d\"\"\",\"yes\",+60\n");
  const Batch batch = read();
  EXPECT_EQ(batch.bags[0].ids[0], 789);
  EXPECT_FLOAT_EQ(batch.dense.row(0)[0], static_cast<float>(std::log(11.0)));
  const std::uint64_t tags = column_seed("tags", 0);
  EXPECT_EQ(batch.bags[1].ids,
            (std::vector<RowId>{hash_row<std::string_view>("a,b", tags, 50),
                                hash_row<std::string_view>("c \"d\"", tags, 50)}));
}

TEST_F(Converting, TakesLineEndsAndByteOrderMarksOfOtherSystems) {
  run("alice,1,a,yes,3\nalice,2,b,no,4\n");
  const std::string plain = contents(folder_ / "out");
  run("\xef\xbb\xbf"
      "alice,1,a,yes,3\r\nalice,2,b,no,4");
  EXPECT_TRUE(contents(folder_ / "out") == plain);
}

// Several inputs, plain and compressed, on one thread or several, give the same file.
TEST_F(Converting, GivesTheSameFileHoweverItIsFedAndOnAnyNumberOfThreads) {
  std::string text;
  for (int i = 0; i < 400'000; ++i) {
    text += "user" + std::to_string(i % 997) + "," + std::to_string(i) + ",a|" +
            std::to_string(i % 13) + (i % 3 == 0 ? ",yes," : ",no,") + std::to_string(i) + "\n";
  }
  ASSERT_GT(text.size(), std::size_t{10} << 20);  // more than one block
  const int threads = thread_count();
  set_thread_count(1);
  const Conversion alone = run(text);
  const std::string file = contents(folder_ / "out");
  set_thread_count(3);
  const std::size_t half = text.find('\n', text.size() / 2) + 1;
  folder_.write("first", text.substr(0, half));
  folder_.write("second", zstd_packed(text.substr(half)));
  const Conversion done = convert(
      {.inputs = {path("first"), path("second")}, .output = path("out"), .schema = schema_});
  set_thread_count(threads);
  EXPECT_EQ(done.lines, 400'000u);
  EXPECT_EQ(done.text_bytes, text.size());
  EXPECT_EQ(alone.examples, done.examples);
  EXPECT_TRUE(contents(folder_ / "out") == file);
}

// alice occurs three times, bob twice, carol once and once more in a line that is bad.
TEST_F(Converting, LearnsAVocabularyOfValuesThatOccurOften) {
  const std::string text =
      "alice,1,a|a,yes,3\nalice,1,b,no,3\nbob,1,a,yes,3\nalice,1,,no,3\nbob,1,a,no,3\n"
      "carol,1,c,no,3\ncarol,x,c,no,3\n,1,a,no,3\n";
  folder_.write("in", text);
  schema_ = learn_vocabulary(schema_, {path("in")}, 2, separated_text(schema_));
  EXPECT_EQ(schema_.columns[0].rows, 4u);  // missing, rare, alice, bob
  EXPECT_EQ(schema_.columns[2].rows, 3u);  // missing, rare, a
  EXPECT_NE(schema_.from_data, "");
  EXPECT_EQ(schema_text(parse_schema(schema_text(schema_), "again")), schema_text(schema_));
  run(text, 1);
  const std::vector<RowId> users = read().bags[0].ids;
  const std::vector<RowId> tags = read().bags[1].ids;
  ASSERT_EQ(users.size(), 7u);
  EXPECT_EQ(users[0], users[1]);
  EXPECT_EQ(users[2], users[4]);
  EXPECT_EQ((std::set<RowId>{users[0], users[2]}), (std::set<RowId>{2, 3}));
  EXPECT_EQ(users[5], 1);
  EXPECT_EQ(users[6], 0);
  EXPECT_EQ(tags, (std::vector<RowId>{2, 2, 1, 2, 0, 2, 1, 2}));
}

}  // namespace
}  // namespace lazydp
