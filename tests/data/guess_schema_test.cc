// A guessed schema tells ids from quantities, and says what it went by.

#include "lazydp/data/text/guess_schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lazydp/data/text/column_facts.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

class Guessing : public testing::Test {
 protected:
  const Column& column(const std::string& name) const {
    const auto found = std::ranges::find(guess_.schema.columns, name, &Column::name);
    EXPECT_NE(found, guess_.schema.columns.end()) << name;
    return *found;
  }
  std::string note(const std::string& name) const {
    for (const std::string& note : guess_.notes) {
      if (note.starts_with("'" + name + "' is ")) return note;
    }
    return "none";
  }

  TemporaryFolder folder_;
  Guess guess_;
};

TEST_F(Guessing, TellsIdsFromQuantities) {
  std::mt19937_64 random(1);
  std::string text = "row,itemId,visits,shop,price,price_id,age,when,token,clicked\n";
  for (int i = 0; i < 3000; ++i) {
    text += std::to_string(i) + "," + std::to_string(random() % 100'000) + "," +
            std::to_string(random() % 1'000'000) + "," + std::to_string(random() % 300) + "," +
            std::to_string(static_cast<double>(random() % 100'000) / 7) + "," +
            std::to_string(random() % 400) + "," + std::to_string(18 + random() % 60) +
            ",2024-03-" + std::to_string(10 + i % 20) + "T10:00:00Z,t" + std::to_string(i * 7) +
            "," + std::to_string(i % 3 == 0 ? 1 : 0) + "\n";
  }
  folder_.write("log", text);
  guess_ = guess_schema((folder_ / "log").string());
  EXPECT_EQ(column("row").role, Role::ignore);
  EXPECT_EQ(note("row"), "'row' is ignored: it differs in every row");
  EXPECT_EQ(column("token").role, Role::ignore);
  EXPECT_EQ(column("itemId").role, Role::categorical) << "by its name";
  EXPECT_TRUE(column("itemId").key);
  EXPECT_EQ(note("itemId"),
            "'itemId' is an id, by its name: categorical, and a key, to split and to protect by");
  EXPECT_EQ(column("shop").role, Role::categorical) << "its numbers repeat";
  EXPECT_TRUE(column("shop").key);
  EXPECT_NE(note("shop").find("because its whole numbers repeat"), std::string::npos);
  EXPECT_EQ(column("visits").role, Role::dense) << "whole numbers that do not repeat";
  EXPECT_EQ(column("price").role, Role::dense) << "differs in every row, and is a quantity";
  EXPECT_EQ(column("age").role, Role::dense) << "by its name";
  EXPECT_EQ(note("age"), "none");
  EXPECT_GT(column("when").bucket, 0.0);
  EXPECT_EQ(column("clicked").role, Role::label);
  EXPECT_NE(guess_.schema.from_data, "");
  for (const std::string& note : guess_.notes) {
    EXPECT_NE(guess_.comment.find("# " + note + "\n"), std::string::npos) << note;
  }
}

TEST_F(Guessing, ReadsQuotedNewlinesAndJoinsColumns) {
  std::string text = "movie,said,rating\n";
  for (int i = 0; i < 200; ++i) {
    text += "m" + std::to_string(i % 9) + ",\"one,\ntwo\"," + std::to_string(i % 5) + "\n";
  }
  folder_.write("log", text);
  folder_.write("movies", "movie,year\nm0,1995\nm1,2001\n");
  const JoinSource join{(folder_ / "movies").string(), "movie"};
  guess_ = guess_schema((folder_ / "log").string(), &join);
  ASSERT_EQ(guess_.schema.columns.size(), 4u);
  EXPECT_EQ(guess_.lines, 200u);
  EXPECT_EQ(guess_.schema.columns[3].name, "year");
  EXPECT_EQ(column("movie").role, Role::categorical);
}

// A name must not reach the file as TOML of its own.
TEST_F(Guessing, WritesNotesThatStayComments) {
  std::string text = "\"user\nsalt = 9\",y\n";
  for (int i = 0; i < 100; ++i)
    text += "u" + std::to_string(i % 7) + "," + std::to_string(i % 2) + "\n";
  folder_.write("log", text);
  guess_ = guess_schema((folder_ / "log").string());
  EXPECT_EQ(parse_schema(guess_.comment + schema_text(guess_.schema), "guess").salt, 0u);
}

TEST(ColumnNames, TellIdsAndQuantities) {
  for (const char* id : {"user", "user_id", "userId", "USER", "item-id", "movieid", "deviceID"}) {
    EXPECT_TRUE(named_as_id(id)) << id;
  }
  for (const char* other : {"user_age", "paid", "bid", "item_count", "idle", "", "ratio"}) {
    EXPECT_FALSE(named_as_id(other)) << other;
  }
}

}  // namespace
}  // namespace lazydp
