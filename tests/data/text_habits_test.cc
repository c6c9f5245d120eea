// Logs as people and programs really write them: other line ends, newlines in quotes, headers here
// and there, files that are no text at all.

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/data/text/file_kind.h"
#include "lazydp/data/text/record_ends.h"
#include "tests/data/converting.h"
#include "tests/data/packing.h"

namespace lazydp {
namespace {

class TextHabits : public Converting {
 protected:
  std::string file_of(const std::string& text) {
    run(text);
    return contents(folder_ / "out");
  }
  std::string refused(const std::string& text) {
    try {
      run(text, 10);
    } catch (const UserError& error) {
      EXPECT_EQ(folder_.files(), std::vector<std::string>{"in"});
      std::string said = error.what();
      return said.replace(said.find(path("in")), path("in").size(), "in");
    }
    return "not refused";
  }
};

TEST_F(TextHabits, NamesFilesThatAreNoText) {
  EXPECT_EQ(refused("PAR1\x15\x04\x15"),
            "'in' is a Parquet file, not separated text; convert it with lazydp convert parquet "
            "or, in Python, lazydp.convert");
  EXPECT_TRUE(refused(std::string("PK\x03\x04\x14\0", 6)).starts_with("'in' is a zip file"));
  EXPECT_TRUE(refused("{\"user\": 1}\n").starts_with("'in' is JSON, not separated text"));
  EXPECT_TRUE(refused("[\n  {\"user\": 1}]\n").starts_with("'in' is JSON"));
  EXPECT_TRUE(refused(gzipped(std::string("ARROW1\0\0", 8))).starts_with("'in' is an Arrow file"));
  EXPECT_TRUE(refused(std::string("\xff\xfe"
                                  "a\0,\0",
                                  6))
                  .starts_with("'in' is text in UTF-16"));
  EXPECT_EQ(file_kind("{6F9619FF-8B86-D011-B42D-00C04FC964FF},1"), nullptr);
  EXPECT_EQ(file_kind("[1],2"), nullptr);
  EXPECT_EQ(file_kind("PARIS,1"), nullptr);
  EXPECT_EQ(file_kind(""), nullptr);
}

TEST_F(TextHabits, TakesNumbersWithCommasAndTimesInQuotes) {
  const std::string plain = file_of("alice,1234567,a,yes,1709209815\n");
  EXPECT_TRUE(file_of("alice,\"1,234,567\",a,yes,2024-02-29T12:30:15Z\n") == plain);
  std::filesystem::remove(folder_ / "out");
  EXPECT_EQ(complaint("alice,\"1,23\",a,yes,3\n"), "1:7: age is '1,23'; it must be a number");
  EXPECT_EQ(complaint("alice,1,a,yes,2024-02-30\n"),
            "1:15: time is '2024-02-30'; it must be a number");
}

TEST_F(TextHabits, TakesCarriageReturnsAsLineEnds) {
  const std::string plain = file_of("alice,1,a,yes,3\nbob,2,b,no,4\n");
  EXPECT_TRUE(file_of("alice,1,a,yes,3\rbob,2,b,no,4\r") == plain);
  EXPECT_TRUE(file_of("alice,1,a,yes,3\rbob,2,b,no,4") == plain);
  EXPECT_TRUE(file_of("alice,1,a,yes,3\r\nbob,2,b,no,4\r\n") == plain);
  std::filesystem::remove(folder_ / "out");
  // Where the first line ends with a newline, a carriage return is part of a value.
  EXPECT_EQ(complaint("alice,1,a,yes,3\nbob,1\r,a,no,3\n"),
            "2:5: age is '1?'; it must be a number");
}

TEST_F(TextHabits, CountsLinesThatEndWithCarriageReturns) {
  const Conversion done = run("alice,1,a,yes,3\rbad\rbob,2,b,no,4\r", 1);
  EXPECT_EQ(done.examples, 2u);
  EXPECT_EQ(done.first_bad.at(0).line, 2u);
}

// The same log, with a column that nobody reads: once without, once with newlines, quotes and
// separators in it. Several blocks, cut into parts for one thread or three.
TEST_F(TextHabits, ReadsNewlinesInQuotesWhereverBlocksAndPartsAreCut) {
  schema_.columns[0].role = Role::ignore;
  schema_.columns[0].key = false;
  std::string plain;
  std::string quoted;
  for (int i = 0; i < 300'000; ++i) {
    const std::string rest = "," + std::to_string(i) + ",a|" + std::to_string(i % 13) +
                             (i % 3 == 0 ? ",yes," : ",no,") + std::to_string(i) + "\n";
    plain += "x" + rest;
    quoted += i % 5 == 0 ? "\"said \"\"no\"\",\nalice,1,a,yes,3\r\n\"" + rest : "x" + rest;
  }
  ASSERT_GT(quoted.size(), std::size_t{8} << 20);  // more than one block
  const std::string file = file_of(plain);
  const int threads = thread_count();
  for (const int count : {1, 3}) {
    set_thread_count(count);
    const Conversion done = run(quoted);
    EXPECT_EQ(done.lines, 300'000u + 2 * 60'000);
    EXPECT_TRUE(contents(folder_ / "out") == file) << count << " threads";
  }
  set_thread_count(threads);
}

TEST_F(TextHabits, AQuoteThatDoesNotEndSpoilsItsLineOnly) {
  const std::string good = "alice,1,a,yes,3\n";
  EXPECT_EQ(run(good + "\"alice,1,a,yes,3\n" + good + good, 1).examples, 3u);
  EXPECT_EQ(run(good + "\"alice,1,a,yes,3\n\"bob\",1,a,yes,3\n" + good, 1).examples, 3u);
  // Its end lies further away than a line may be long.
  std::string far;
  for (int i = 0; i < 80'000; ++i) far += good;
  ASSERT_GT(far.size(), kMaxLineBytes);
  const Conversion done = run(good + "\"alice,1,a,yes,3\n" + far + "x\",1,a,yes,3\n", 2);
  EXPECT_EQ(done.examples, 80'002u);
  EXPECT_EQ(done.first_bad.at(0).line, 2u);
}

TEST_F(TextHabits, PointsIntoRecordsOfSeveralLines) {
  EXPECT_EQ(complaint("\"al\nice\",1,a,maybe,3\n"),
            "2:10: y is 'maybe'; it must be one of the values that the schema has for the label");
  std::filesystem::remove(folder_ / "in");
  const Conversion done = run("\"al\nice\",1,a,yes,3\nbad\n", 1);
  EXPECT_EQ(done.first_bad.at(0).line, 3u);
}

TEST_F(TextHabits, TakesAHeaderInSomePartsOfALog) {
  const std::string header = "user,age,tags,y,time\n";
  const std::string first = "alice,1,a,yes,3\n";
  const std::string second = "bob,2,b,no,4\n";
  const auto joined_up = [](std::initializer_list<std::string_view> parts) {
    std::string text;
    for (const std::string_view part : parts) text += part;
    return text;
  };
  for (const bool expected : {true, false}) {
    schema_.header = expected;
    const std::string_view begins = expected ? std::string_view(header) : "";
    const std::string plain = file_of(joined_up({begins, first, second}));
    for (const auto& [one, two] :
         {std::pair(header + first, second), std::pair(first, header + second)}) {
      folder_.write("one", one);
      folder_.write("two", two);
      const Conversion done =
          convert({.inputs = {path("one"), path("two")}, .output = path("out"), .schema = schema_});
      EXPECT_EQ(done.headers, 1u);
      EXPECT_EQ(done.without_header, expected ? 1u : 0u);
      EXPECT_TRUE(contents(folder_ / "out") == plain);
    }
    // Parts that were joined by `cat`: a header among lines leaves a hole, as a blank line would.
    EXPECT_EQ(run(joined_up({header, first, header, second})).headers, 2u);
    const std::string joined = contents(folder_ / "out");
    EXPECT_EQ(run(joined_up({begins, first, "\n", second})).blank, 1u);
    EXPECT_TRUE(contents(folder_ / "out") == joined);
  }
}

// Without a header where one should be, columns in another order would be misread.
TEST_F(TextHabits, RefusesAFirstLineThatMayBeAnotherHeader) {
  schema_.header = true;
  EXPECT_TRUE(refused("age,user,tags,y,time\nalice,1,a,yes,3\n").starts_with("in:1:1: the header"));
  EXPECT_TRUE(refused("who,old,what,good,when\nalice,1,a,yes,3\n").starts_with("in:1:1: the "));
  Schema words = parse_schema(
      "header = true\n[[column]]\nname = \"u\"\nrole = \"categorical\"\nrows = 9\n"
      "[[column]]\nname = \"y\"\nrole = \"label\"\npositive = [\"1\"]\n",
      "test");
  schema_ = words;
  EXPECT_TRUE(refused("bob,1\nalice,0\n").starts_with("in:1:1: the header has 'bob'"))
      << "nothing tells that this is no header";
}

TEST_F(TextHabits, NamesTheSeparatorThatALineHasInstead) {
  schema_ = criteo_schema({100}, 0);
  std::string line = "0";
  for (int i = 0; i < 39; ++i) line += ",1";
  EXPECT_EQ(complaint(line + "\n"),
            "1:1: there is no tab, the separator of the schema, in the line; it has ',' 39 times");
  EXPECT_EQ(complaint("0\n"), "1:2: the line has 1 column; it must have 40");
}

// Against what a reader of one line after the other finds that knows no blocks.
TEST(RecordEnds, ASeparatorOfSeveralCharactersAndSpacesCount) {
  Schema schema = {.separator = "::"};
  const RecordEnds ends(schema);
  const auto first = [&](std::string_view text) { return ends.first(text, false); };
  EXPECT_EQ(first("a::\"b\nc\"::d\ne"), 12u);
  EXPECT_EQ(first("a::  \"b\nc\" ::d\ne"), 15u);
  EXPECT_EQ(first("a:\"b\nc\"::d\n"), 5u) << "no quote starts a field";
  EXPECT_EQ(first("a::\"b\nc\n"), std::string_view::npos);
  EXPECT_EQ(ends.first("a::\"b\nc\n", true), 6u);
  EXPECT_EQ(first("a::\"b\nc\"x\n"), 6u);
  EXPECT_EQ(first("a::b"), std::string_view::npos);
  schema.quotes = false;
  EXPECT_EQ(RecordEnds(schema).first("a::\"b\nc\"::d\ne", false), 6u);
}

}  // namespace
}  // namespace lazydp
