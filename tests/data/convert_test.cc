// What lines become, and what is said of those that become nothing.

#include "lazydp/data/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/data/data_file.h"
#include "lazydp/data/hash_row.h"
#include "lazydp/data/schema_text.h"
#include "lazydp/data/vocabulary.h"
#include "tests/data/packing.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

template <class Value>
std::uint32_t hash_row(Value value, std::uint64_t seed, std::uint64_t rows) {
  return hashed_row(hash_value(value, seed), rows);
}

class Converting : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  Conversion run(const std::string& text, std::uint64_t max_bad = 0) const {
    folder_.write("in", text);
    return convert({.inputs = {path("in")},
                    .output = path("out"),
                    .schema = schema_,
                    .max_bad_lines = max_bad});
  }
  // The complaint about the only line of `text`.
  std::string complaint(const std::string& text) const {
    const Conversion done = run(text);
    EXPECT_TRUE(done.stopped) << text;
    EXPECT_EQ(folder_.files(), std::vector<std::string>{"in"}) << "nothing is left";
    if (done.first_bad.empty()) return "none";
    const BadLine& bad = done.first_bad.front();
    return std::to_string(bad.line) + ":" + std::to_string(bad.column) + ": " + bad.reason;
  }
  Batch read() const {
    const DataFile data(path("out"));
    std::vector<ExampleId> all(data.size());
    std::iota(all.begin(), all.end(), ExampleId{0});
    Batch batch;
    data.read(all, batch);
    return batch;
  }

  TemporaryFolder folder_;
  Schema schema_ = parse_schema(R"(
missing = ["", "?"]
[[column]]
name = "user"
role = "categorical"
rows = 1000
key = true
[[column]]
name = "age"
role = "dense"
[[column]]
name = "tags"
role = "multi"
separator = "|"
rows = 50
[[column]]
name = "y"
role = "label"
positive = ["yes", "Yes"]
negative = ["no"]
[[column]]
name = "time"
role = "categorical"
bucket = 60
rows = 100
)",
                                "test");
};

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
  EXPECT_EQ(batch.bags[0].ids, (std::vector<RowId>{789, 0}));  // known from hash_row_test
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

TEST_F(Converting, SaysWhereALineIsBadAndWhy) {
  EXPECT_EQ(complaint("alice,1,a,maybe,3\n"),
            "1:11: y is 'maybe'; it must be one of the values that the schema has for the label");
  EXPECT_EQ(complaint("alice,1,a,,3\n"), "1:11: y is ''; it must be there: it is the label");
  EXPECT_EQ(complaint("alice, 1x,a,yes,3\n"), "1:8: age is '1x'; it must be a number");
  EXPECT_EQ(complaint("alice,inf,a,yes,3\n"), "1:7: age is 'inf'; it must be a number");
  EXPECT_EQ(complaint("alice,nan,a,yes,3\n"), "1:7: age is 'nan'; it must be a number");
  EXPECT_EQ(complaint("alice,1e999,a,yes,3\n"), "1:7: age is '1e999'; it must be a number");
  EXPECT_EQ(complaint("alice,1,a,yes,soon\n"), "1:15: time is 'soon'; it must be a number");
  EXPECT_EQ(complaint("alice,1,a,yes,1e40\n"),
            "1:15: time is '1e40'; it must be a number that has a bucket");
  EXPECT_EQ(complaint("\n\nalice,1,a\n"), "3:10: the line has 3 columns; it must have 5");
  EXPECT_EQ(complaint("alice,1,a,yes,3,4,5\n"), "1:17: the line has 7 columns; it must have 5");
  EXPECT_EQ(complaint("\"alice,1,a,yes,3\n"),
            "1:1: user starts a quote that does not end well on its line");
  EXPECT_EQ(complaint("\"alice\"x,1,a,yes,3\n"),
            "1:1: user starts a quote that does not end well on its line");
  EXPECT_EQ(complaint(std::string("alice,1,a\0b,yes,3\n", 18)), "1:10: the line holds a NUL byte");
  std::string values = "x";
  for (int i = 0; i < 20'000; ++i) values += "|x";
  EXPECT_EQ(complaint("alice,1," + values + ",yes,3\n"),
            "1:1: the line has more values than fit into a page of the data file");
}

TEST_F(Converting, BoundsDenseValues) {
  EXPECT_EQ(run("alice,1e300,a,yes,3\n").examples, 1u) << "its logarithm";
  std::filesystem::remove(folder_ / "out");
  std::ranges::find(schema_.columns, "age", &Column::name)->transform = Transform::none;
  EXPECT_EQ(run("alice,1e12,a,yes,3\nalice,-1e12,a,yes,3\n").examples, 2u);
  std::filesystem::remove(folder_ / "out");
  EXPECT_EQ(complaint("alice,-2e12,a,yes,3\n"),
            "1:7: age is '-2e12'; it must be a number from -1e12 to 1e12, or the column's "
            "transform must be log");
}

TEST_F(Converting, ShowsValuesShortAndHarmless) {
  const std::string said = complaint("alice," + std::string(100, 'x') + "\x1b[31m,a,yes,3\n");
  EXPECT_EQ(said, "1:7: age is '" + std::string(40, 'x') + "...'; it must be a number");
  EXPECT_EQ(complaint("alice,\x1b[31m,a,yes,3\n"), "1:7: age is '?[31m'; it must be a number");
}

TEST_F(Converting, LeavesOutAsManyBadLinesAsItMay) {
  const std::string good = "alice,1,a,yes,3\n";
  const Conversion done = run(good + "bad\n" + good + "bad\n\n" + good, 2);
  EXPECT_FALSE(done.stopped);
  EXPECT_EQ(done.examples, 3u);
  EXPECT_EQ(done.bad, 2u);
  EXPECT_EQ(done.blank, 1u);
  EXPECT_EQ(done.lines, 6u);
  EXPECT_EQ(done.first_bad.at(1).line, 4u);
  EXPECT_EQ(read().size, 3u);
}

TEST_F(Converting, TakesLineEndsAndByteOrderMarksOfOtherSystems) {
  run("alice,1,a,yes,3\nalice,2,b,no,4\n");
  const std::string plain = contents(folder_ / "out");
  run("\xef\xbb\xbf"
      "alice,1,a,yes,3\r\nalice,2,b,no,4");
  EXPECT_TRUE(contents(folder_ / "out") == plain);
}

TEST_F(Converting, RefusesInputsWithoutExamples) {
  EXPECT_THROW(run(""), UserError);
  EXPECT_THROW(run("\n\r\n"), UserError);
  EXPECT_EQ(folder_.files(), std::vector<std::string>{"in"});
}

TEST_F(Converting, ChecksAHeaderAgainstTheSchema) {
  schema_.header = true;
  EXPECT_EQ(run("user,age,tags,y,time\nalice,1,a,yes,3\n").examples, 1u);
  std::filesystem::remove(folder_ / "out");
  const auto refused = [&](const std::string& text) {
    try {
      run(text, 10);  // however many lines may be left out
    } catch (const UserError& error) {
      const std::string said = error.what();
      return said.substr(said.find("in:") + 3);
    }
    return std::string("not refused");
  };
  EXPECT_EQ(refused("user,aeg,tags,y,time\nalice,1,a,yes,3\n"),
            "1:6: the header has 'aeg' where the schema has 'age'; nothing was written");
  EXPECT_EQ(refused("user,age\nalice,1,a,yes,3\n"),
            "1:9: the header has nothing where the schema has 'tags'; nothing was written");
  EXPECT_EQ(folder_.files(), std::vector<std::string>{"in"});
}

TEST_F(Converting, LeavesNothingWhenAnInputIsCutShort) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "alice," + std::to_string(i * 7919 % 1000) + ",a,yes,3\n";
  const std::string packed = gzipped(text);
  EXPECT_THROW(run(packed.substr(0, packed.size() - 9)), IoError);
  EXPECT_EQ(folder_.files(), std::vector<std::string>{"in"});
}

// Several inputs, plain and packed, on one thread or several: the same file.
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

// Line numbers count over blocks, and start again in every input.
TEST_F(Converting, NumbersLinesThroughBlocksAndInputs) {
  std::string text;
  for (int i = 0; i < 700'000; ++i) text += "alice,1,a,yes,3\n";
  folder_.write("first", text + "bad\n" + text);
  folder_.write("second", "alice,1,a,yes,3\nworse\n");
  const Conversion done = convert({.inputs = {path("first"), path("second")},
                                   .output = path("out"),
                                   .schema = schema_,
                                   .max_bad_lines = 5});
  ASSERT_EQ(done.first_bad.size(), 2u);
  EXPECT_EQ(done.first_bad[0].line, 700'001u);
  EXPECT_EQ(done.first_bad[0].input, path("first"));
  EXPECT_EQ(done.first_bad[1].line, 2u);
  EXPECT_EQ(done.first_bad[1].input, path("second"));
}

// alice occurs three times, bob twice, carol once and once more in a line that is bad.
TEST_F(Converting, LearnsAVocabularyOfValuesThatOccurOften) {
  const std::string text =
      "alice,1,a|a,yes,3\nalice,1,b,no,3\nbob,1,a,yes,3\nalice,1,,no,3\nbob,1,a,no,3\n"
      "carol,1,c,no,3\ncarol,x,c,no,3\n,1,a,no,3\n";
  folder_.write("in", text);
  schema_ = learn_vocabulary(schema_, {path("in")}, 2);
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

class ConvertingCriteo : public Converting {
 protected:
  ConvertingCriteo() { schema_ = criteo_schema({1000}, 0); }

  // A line with one field replaced.
  static std::string line(std::size_t field, const std::string& value) {
    std::string text;
    for (std::size_t i = 0; i < 40; ++i) {
      const std::string usual = i == 0 ? "1" : i < 14 ? std::to_string(i) : "0000abcd";
      text += (i > 0 ? "\t" : "") + (i == field ? value : usual);
    }
    return text + "\n";
  }
};

TEST_F(ConvertingCriteo, TakesTheirLines) {
  run(line(0, "0") + line(1, "") + line(2, "-5") + line(14, "") + line(15, "ABCD"));
  const Batch batch = read();
  ASSERT_EQ(batch.size, 5u);
  EXPECT_EQ(batch.labels, (std::vector<float>{0, 1, 1, 1, 1}));
  EXPECT_FLOAT_EQ(batch.dense.row(0)[0], std::log(2.0f));
  EXPECT_EQ(batch.dense.row(1)[0], 0.0f);
  EXPECT_EQ(batch.dense.row(2)[1], 0.0f);
  EXPECT_NE(batch.bags[0].ids[0], 0);
  EXPECT_EQ(batch.bags[0].ids[3], 0);
  EXPECT_EQ(batch.bags[1].ids[4], batch.bags[1].ids[0]);  // the same number, written otherwise
}

TEST_F(ConvertingCriteo, RefusesWhatIsNotTheirs) {
  EXPECT_NE(complaint(line(0, "2")).find("label is '2'"), std::string::npos);
  EXPECT_EQ(complaint(line(14, "xyz")),
            "1:33: C1 is 'xyz'; it must be at most 16 hexadecimal digits");
  EXPECT_NE(complaint(line(14, "-1")).find("hexadecimal"), std::string::npos);
  EXPECT_NE(complaint(line(14, "12345678901234567")).find("hexadecimal"), std::string::npos);
  EXPECT_EQ(complaint(line(3, "9223372036854775808")),
            "1:7: I3 is '9223372036854775808'; it must be a whole number of 64 bits");
  EXPECT_NE(complaint(line(3, "1.5")).find("I3 is '1.5'; it must be a whole number"),
            std::string::npos);
  EXPECT_NE(complaint(line(39, "1\t2")).find("41 columns; it must have 40"), std::string::npos);
}

}  // namespace
}  // namespace lazydp
