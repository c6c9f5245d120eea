// A second file's columns, added to every line of a log.

#include "lazydp/data/text/joined_table.h"

#include <gtest/gtest.h>

#include "lazydp/base/error.h"
#include "lazydp/data/text/example_parser.h"
#include "tests/data/converting.h"

namespace lazydp {
namespace {

class Joining : public Converting {
 protected:
  Joining() {
    std::rotate(schema_.columns.begin() + 1, schema_.columns.begin() + 3, schema_.columns.end());
    // user, y, time, and of another file: age, tags
  }

  Conversion join(const std::string& log, const std::string& table) const {
    folder_.write("log", log);
    folder_.write("table", table);
    const auto joined = std::make_shared<JoinedTable>(JoinSource{path("table"), "user"}, schema_);
    return convert({.inputs = {path("log")},
                    .output = path("out"),
                    .schema = schema_,
                    .format = separated_text(schema_, joined)});
  }
  std::string refused(const std::string& table) const {
    try {
      join("alice,yes,3\n", table);
    } catch (const UserError& error) {
      EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
      std::string said = error.what();
      return said.replace(said.find(path("table")), path("table").size(), "table");
    }
    return "not refused";
  }
};

TEST_F(Joining, IsWhatALogWithAllColumnsIs) {
  run("alice,yes,3,41,a|b\nbob,no,4,\"1,000\",c\nalice,no,5,41,a|b\n");
  const std::string plain = contents(folder_ / "out");
  const Conversion done = join("alice,yes,3\nbob,no,4\nalice,no,5\n",
                               "age,user,tags\n41,alice,a|b\n\"1,000\", bob ,\"c\"\n9,carol,x\n");
  EXPECT_EQ(done.missing_keys, 0u);
  EXPECT_TRUE(contents(folder_ / "out") == plain);
}

TEST_F(Joining, CountsKeysThatTheTableLacks) {
  run("alice,yes,3,41,a|b\ndave,no,4,,\n,no,4,,\n");
  const std::string plain = contents(folder_ / "out");
  const Conversion done = join("alice,yes,3\ndave,no,4\n,no,4\n", "user,age,tags\nalice,41,a|b\n");
  EXPECT_EQ(done.missing_keys, 2u);
  EXPECT_TRUE(contents(folder_ / "out") == plain);
}

TEST_F(Joining, SaysWhatIsWrongWithATable) {
  EXPECT_EQ(refused("id,age,tags\nalice,41,a\n"),
            "'table' is to be joined by 'user', and its first line has no such column; it has "
            "'id, age, tags'");
  EXPECT_EQ(refused("user,age,tags\nalice,41,a\nalice,42,b\n"),
            "table:3: the key 'alice' occurs for the second time; a line of the log has one row to "
            "join");
  EXPECT_EQ(refused("user,age,tags\nalice,41\n"),
            "table:2: the line has 2 columns; it must have 3");
  EXPECT_EQ(refused("user,tags,age\nalice,a,41\n"),
            "'table' is to be joined: its columns must be the last ones of the schema, in this "
            "order: tags, age");
  EXPECT_EQ(refused("user,age,tags\n"), "'table' is to be joined, and has no rows");
  EXPECT_EQ(refused("user\nalice\n"), "'table' has no column beside the key 'user'");
  EXPECT_TRUE(refused("PAR1....").starts_with("'table' is a Parquet file"));
}

TEST_F(Joining, ABadValueOfTheTableIsABadLineThatNamesTheKey) {
  const Conversion done = join("alice,yes,3\n", "user,age,tags\nalice,old,a\n");
  EXPECT_TRUE(done.stopped);
  EXPECT_EQ(done.first_bad.at(0).reason,
            "in the row that is joined for 'alice' age is 'old'; it must be a number");
}

}  // namespace
}  // namespace lazydp
