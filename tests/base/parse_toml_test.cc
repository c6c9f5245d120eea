#include <gtest/gtest.h>

#include "lazydp/base/error.h"
#include "lazydp/base/text/toml.h"

namespace lazydp {
namespace {

std::string value_of_a(std::string_view text) {
  return parse_toml(text, "here")["a"].value_or(std::string("nothing"));
}

std::string refused(std::string_view text) {
  try {
    parse_toml(text, "here");
  } catch (const UserError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(ParseToml, KeepsTextOfAnyKind) {
  EXPECT_EQ(value_of_a("a = \"é\" # ü\n"), "é");
  EXPECT_EQ(value_of_a("a = 'Ж\u00A0ﻌ\uFEFF'\n"), "Ж\u00A0ﻌ\uFEFF");
  EXPECT_EQ(value_of_a("a = \"\"\"x \\\n \té\nü\"\"\"\n"), "x é\nü");
  EXPECT_EQ(value_of_a("a = '''é\n'😀'''\n"), "é\n'😀");
  EXPECT_EQ(value_of_a("\xEF\xBB\xBF# é\na = 'x'"), "x");
  EXPECT_EQ(value_of_a("a = \"\\u00e9\\U0001F600\""), "é😀");
  EXPECT_EQ(value_of_a("a = '\uE0C3\uE0A9'"), "\uE0C3\uE0A9") << "characters we use ourselves";
  EXPECT_EQ(parse_toml("a = [ 'é', [ 'ü' ], { b = 'ö' } ]", "here")["a"][2]["b"].value_or(""),
            std::string("ö"));
}

// Characters on which toml++ 3.3 has undefined behaviour, in every place where it may test them:
// found by fuzzers, and derived from these.
TEST(ParseToml, RefusesInOneLineWhatIsNoToml) {
  for (const char* text :
       {"é = 1\n", "a = 1\nb = é\n", "a = \"x\"é\n", "# é\né", "a = \"open\né", "a = '\\'é\n",
        "\xEF\xBB\x9F= 1979", "a = 50\"é\"\n", "a = 1979-05-27 'é'\n", "a = \"\"\"x\\é\"\"\"\n",
        "\"\"\"o\\ﻌ=\n", "a =  0['Ûlmol= 1:7=A-0l\n", "a = [\u00A0]", "a\u00A0= 1", "[é]\n", "é"}) {
    const std::string said = refused(text);
    EXPECT_TRUE(said.starts_with("here, line ")) << text << ": " << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    EXPECT_EQ(said.find('\xEE'), std::string::npos) << "shown as it was written: " << said;
  }
  EXPECT_EQ(refused("'é' = 1"), "here: unknown key 'é'; keys are ASCII");
  EXPECT_EQ(refused("[ x.\"é\" ]"), "here: unknown key 'é'; keys are ASCII");
  EXPECT_EQ(refused("a = '\xC3'"), "here: it must be text in UTF-8");
  EXPECT_EQ(refused("a = '\xED\xA0\x80'"), "here: it must be text in UTF-8") << "a surrogate";
  EXPECT_EQ(refused("a = \"\\uE0C3\""), "here: it must be text in UTF-8");
}

}  // namespace
}  // namespace lazydp
