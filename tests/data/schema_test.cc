// Schemas are parsed strictly, and written so that they parse to the same schema.

#include "lazydp/data/schema.h"

#include <gtest/gtest.h>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

constexpr const char* kMovies = R"(
separator = "::"
salt = "18446744073709551615"
missing = ["", "?"]

[[column]]
name = "user"
role = "categorical"
rows = 20000
key = true

[[column]]
name = "rating"
role = "label"
positive_from = 8

[[column]]
name = "genres"
role = "multi"
separator = "|"
rows = 64

[[column]]
name = "time"
role = "categorical"
rows = 200
bucket = 2592000

[[column]]
name = "age"
role = "dense"
transform = "none"

[[column]]
name = "title"
)";

std::string complaint(const std::string& text) {
  try {
    parse_schema(text, "s.toml");
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Schema, ReadsWhatPeopleWrite) {
  const Schema schema = parse_schema(kMovies, "s.toml");
  ASSERT_EQ(schema.columns.size(), 6u);
  EXPECT_EQ(schema.separator, "::");
  EXPECT_EQ(schema.salt, ~std::uint64_t{0});
  EXPECT_EQ(schema.missing, (std::vector<std::string>{"", "?"}));
  EXPECT_EQ(schema.columns[1].positive_from, 8.0);
  EXPECT_EQ(schema.columns[3].bucket, 2592000.0);
  EXPECT_EQ(schema.columns[4].transform, Transform::none);
  EXPECT_EQ(schema.columns[5].role, Role::ignore);
  EXPECT_EQ(schema.tables().size(), 3u);
  EXPECT_EQ(schema.keys().size(), 1u);
}

TEST(Schema, ReadsBackWhatItWrites) {
  Schema odd = parse_schema(kMovies, "s.toml");
  odd.columns[5].name = "a \"quoted\\ name\"\t\x01 é";
  odd.columns[1].positive_from = 0.1;
  odd.from_data = "rows";
  for (const Schema& schema : {odd, criteo_schema({1000}, 5)}) {
    const Schema again = parse_schema(schema_text(schema), "s.toml");
    EXPECT_EQ(schema_text(again), schema_text(schema));
    EXPECT_EQ(again.columns.back().name, schema.columns.back().name);
    EXPECT_EQ(again.salt, schema.salt);
    EXPECT_EQ(again.columns[1].positive_from, schema.columns[1].positive_from);
  }
}

TEST(Schema, OfCriteoHasItsColumns) {
  const Schema schema = criteo_schema({1000}, 0);
  EXPECT_EQ(schema.columns.size(), 40u);
  EXPECT_EQ(schema.dense_features(), 13u);
  EXPECT_EQ(schema.tables().size(), 26u);
  EXPECT_THROW(criteo_schema({1, 2}, 0), UserError);
  EXPECT_THROW(criteo_schema({0}, 0), UserError);
}

TEST(Schema, SaysWhatIsWrongAndWhere) {
  const std::string label = "[[column]]\nname='y'\nrole='label'\npositive='1'\n";
  const std::string value = "[[column]]\nname='u'\nrole='categorical'\nrows=10\n";
  EXPECT_EQ(complaint(label + value), "nothing");
  EXPECT_NE(complaint("a = ").find("s.toml, line 1"), std::string::npos);
  EXPECT_NE(complaint("sepaator = ','").find("'sepaator'"), std::string::npos);
  EXPECT_NE(complaint(label).find("no column of role categorical"), std::string::npos);
  EXPECT_NE(complaint(value).find("0 columns of role label"), std::string::npos);
  EXPECT_NE(complaint(label + value + value).find("'u' occurs twice"), std::string::npos);
  EXPECT_NE(complaint(label + value + "bucket='x'").find("bucket must be a number"),
            std::string::npos);
  EXPECT_NE(complaint(label + value + "transform='log'").find("'transform'"), std::string::npos);
  EXPECT_NE(complaint(label + "[[column]]\nname='u'\nrole='category'").find("not 'category'"),
            std::string::npos);
  EXPECT_NE(complaint(label + "[[column]]\nname='u'\nrole='categorical'").find("0 rows"),
            std::string::npos);
  EXPECT_NE(complaint("[[column]]\nname='y'\nrole='label'\n" + value).find("positive"),
            std::string::npos);
  EXPECT_NE(complaint(label + "[[column]]\nname='u'\nrole='multi'\nrows=9").find("separator"),
            std::string::npos);
  EXPECT_NE(complaint("salt='x'\n" + label + value).find("salt must be"), std::string::npos);
  EXPECT_NE(complaint("column = 3").find("[[column]]"), std::string::npos);
}

}  // namespace
}  // namespace lazydp
