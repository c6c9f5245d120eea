#include "lazydp/base/text/json.h"

#include <gtest/gtest.h>

#include "lazydp/base/types.h"

namespace lazydp {
namespace {

TEST(JsonNumber, TakesWholeNumbersThatFit) {
  EXPECT_EQ(natural<Step>(Json::parse("0")), 0u);
  EXPECT_EQ(natural<Step>(Json::parse("4294967295")), 4294967295u);
  EXPECT_EQ(natural<std::uint64_t>(Json::parse("18446744073709551615")), ~std::uint64_t{0});
  EXPECT_EQ(natural<RowId>(Json(RowId{7})), 7) << "not read from text";
  EXPECT_EQ(naturals<RowId>(Json::parse("[3, 1]")), (std::vector<RowId>{3, 1}));
}

// Found by a fuzzer: a number too large for an integer is read as a fraction, and that as an
// arbitrary number.
TEST(JsonNumber, RefusesAnythingElse) {
  for (const char* text : {"8888980000000000147160992", "4294967296", "-1", "0.5", "1.0", "1e3",
                           "true", "null", "\"1\"", "[1]", "{}"}) {
    EXPECT_THROW(natural<Step>(Json::parse(text)), Json::exception) << text;
  }
  EXPECT_THROW(natural<RowId>(Json::parse("9223372036854775808")), Json::exception);
  for (const char* text : {"[1, -1]", "{}", "3", "{\"a\": 1}"}) {
    EXPECT_THROW(naturals<RowId>(Json::parse(text)), Json::exception) << text;
  }
  try {
    natural<Step>(Json::parse("-1"));
  } catch (const Json::exception& error) {
    EXPECT_TRUE(
        std::string(error.what()).ends_with("-1 where a whole number from 0 to 4294967295 must be"))
        << error.what();
  }
}

}  // namespace
}  // namespace lazydp
