// Lines and inputs that are not examples are reported with their position and the reason.

#include <gtest/gtest.h>

#include "lazydp/base/error.h"
#include "tests/data/converting.h"
#include "tests/data/packing.h"

namespace lazydp {
namespace {

class BadLines : public Converting {};

TEST_F(BadLines, SaysWhereALineIsBadAndWhy) {
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
  EXPECT_EQ(complaint("\"alice,1,a,yes,3\n"), "1:1: user starts a quote that does not end well");
  EXPECT_EQ(complaint("\"alice\"x,1,a,yes,3\n"), "1:1: user starts a quote that does not end well");
  EXPECT_EQ(complaint(std::string("alice,1,a\0b,yes,3\n", 18)), "1:10: the line holds a NUL byte");
  std::string values = "x";
  for (int i = 0; i < 20'000; ++i) values += "|x";
  EXPECT_EQ(complaint("alice,1," + values + ",yes,3\n"),
            "1:1: the line has more values than fit into a page of the data file");
}

TEST_F(BadLines, BoundsDenseValues) {
  EXPECT_EQ(run("alice,1e300,a,yes,3\n").examples, 1u) << "its logarithm";
  std::filesystem::remove(folder_ / "out");
  std::ranges::find(schema_.columns, "age", &Column::name)->transform = Transform::none;
  EXPECT_EQ(run("alice,1e12,a,yes,3\nalice,-1e12,a,yes,3\n").examples, 2u);
  std::filesystem::remove(folder_ / "out");
  EXPECT_EQ(complaint("alice,-2e12,a,yes,3\n"),
            "1:7: age is '-2e12'; it must be a number from -1e12 to 1e12, or the column's "
            "transform must be log");
}

TEST_F(BadLines, ShowsValuesShortAndHarmless) {
  const std::string said = complaint("alice," + std::string(100, 'x') + "\x1b[31m,a,yes,3\n");
  EXPECT_EQ(said, "1:7: age is '" + std::string(40, 'x') + "...'; it must be a number");
  EXPECT_EQ(complaint("alice,\x1b[31m,a,yes,3\n"), "1:7: age is '?[31m'; it must be a number");
}

TEST_F(BadLines, LeavesOutAsManyBadLinesAsItMay) {
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

TEST_F(BadLines, RefusesInputsWithoutExamples) {
  EXPECT_THROW(run(""), UserError);
  EXPECT_THROW(run("\n\r\n"), UserError);
  EXPECT_EQ(folder_.files(), std::vector<std::string>{"in"});
}

TEST_F(BadLines, ChecksAHeaderAgainstTheSchema) {
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

TEST_F(BadLines, LeavesNothingWhenAnInputIsCutShort) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "alice," + std::to_string(i * 7919 % 1000) + ",a,yes,3\n";
  const std::string packed = gzipped(text);
  EXPECT_THROW(run(packed.substr(0, packed.size() - 9)), IoError);
  EXPECT_EQ(folder_.files(), std::vector<std::string>{"in"});
}

// Line numbers count over blocks, and start again in every input.
TEST_F(BadLines, NumbersLinesThroughBlocksAndInputs) {
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

}  // namespace
}  // namespace lazydp
