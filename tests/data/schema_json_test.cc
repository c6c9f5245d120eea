// The schema on a card says everything that a schema file says.

#include "lazydp/data/schema_json.h"

#include <gtest/gtest.h>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

constexpr const char* kEverything = R"(
source = "shop"
separator = "||"
header = true
quotes = false
trim = false
missing = ["", "NA"]
salt = "18446744073709551615"
from_data = "a guess"
[[column]]
name = "y"
role = "label"
positive = ["yes", "y"]
negative = "no"
[[column]]
name = "age"
role = "dense"
transform = "none"
integer = true
[[column]]
name = "spare"
key = true
[[column]]
name = "time"
role = "categorical"
rows = 12
bucket = 0.1
[[column]]
name = "ad"
role = "categorical"
rows = 12
hexadecimal = true
[[column]]
name = "tags"
role = "multi"
separator = "|"
rows = 4
vocabulary = "0000000000000001ffffffffffffffff"
)";

TEST(SchemaOnACard, IsTheSchema) {
  std::string by_number = kEverything;
  const std::string by_value = "positive = [\"yes\", \"y\"]\nnegative = \"no\"";
  by_number.replace(by_number.find(by_value), by_value.size(), "positive_from = 0.1");
  for (const std::string& text : {std::string(kEverything), by_number}) {
    const Schema schema = parse_schema(text, "test");
    const Json card = Json::parse(json_of(schema).dump());
    EXPECT_EQ(schema_text(schema_from(card)), schema_text(schema));
  }
}

TEST(SchemaOnACard, IsRefusedIfItIsNone) {
  const Json good = json_of(parse_schema(kEverything, "test"));
  const auto refused = [](const Json& json) {
    EXPECT_THROW(schema_from(json), UserError) << json.dump();
  };
  refused(Json());
  refused(Json::array());
  for (const auto& [key, value] : good.items()) {
    Json edited = good;
    if (key != "from_data") {
      edited.erase(key);
      refused(edited);
    }
    edited[key] = {{"a", 1}};
    refused(edited);
  }
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, Json>>{{"role", "labels"},
                                                 {"role", 7},
                                                 {"rows", -1},
                                                 {"rows", 0.5},
                                                 {"transform", "exp"},
                                                 {"name", ""},
                                                 {"bucket", -1.0},
                                                 {"vocabulary", Json::array({-1})}}) {
    Json edited = good;
    edited["column"][key == "transform" ? 1 : key == "vocabulary" ? 5 : 3][key] = value;
    refused(edited);
  }
  Json edited = good;
  edited["salt"] = "12x";
  refused(edited);
}

}  // namespace
}  // namespace lazydp
