#include "lazydp/base/toml_guard.h"

#include <gtest/gtest.h>

namespace lazydp {
namespace {

TEST(TomlGuard, LetsAnythingStandInQuotesAndComments) {
  for (const char* text :
       {"", "a = 1\n", "a = \"é\" # ü\n", "a = 'é'\n", "\"é\" = 1\n", "a = \"\"\"é\né\"\"\"\n",
        "a = '''é\n'é'''\n", "a = \"\"\"x\"\"\"\"\" # é\n", "a = \"\\\"é\"\n", "a = '\\' # é\n",
        "\xEF\xBB\xBF# a\n", "a . \"é\" = [ 'é', \"é\",\n\t'é' ]\n", "a = { 'é' = 1 }\n",
        "[ 'é' ]\n", "a = \"\" # é\n", "a = \"\"\"\\\"\"\"é\"\"\"\n",
        "a = \"\"\"x\\\n y é \\n é \\\\é\"\"\"\n"}) {
    EXPECT_EQ(line_beyond_ascii(text), 0u) << text;
  }
}

TEST(TomlGuard, NamesTheLineOfAnythingElse) {
  EXPECT_EQ(line_beyond_ascii("é = 1\n"), 1u);
  EXPECT_EQ(line_beyond_ascii("a = 1\nb = é\n"), 2u);
  EXPECT_EQ(line_beyond_ascii("a = \"x\"é\n"), 1u);
  EXPECT_EQ(line_beyond_ascii("# é\né"), 2u);
  EXPECT_EQ(line_beyond_ascii("a = \"open\né"), 2u) << "a line ends a quote";
  EXPECT_EQ(line_beyond_ascii("a = \"\"\"x\n\"\"\" é\n"), 2u);
  EXPECT_EQ(line_beyond_ascii("a = \"\"\"x\"\"\"\"\"é\n"), 1u);
  EXPECT_EQ(line_beyond_ascii("a = '\\'é\n"), 1u) << "no escapes there";
  EXPECT_EQ(line_beyond_ascii("a = \"\"é\n"), 1u);
  EXPECT_EQ(line_beyond_ascii("\xEF\xBB\x9F= 1979"), 1u);
  EXPECT_EQ(line_beyond_ascii("a = \"\"\"x\\é\"\"\"\n"), 1u) << "no escape";
  EXPECT_EQ(line_beyond_ascii("a = \"\"\"x\\ \n\n \té\"\"\"\n"), 3u) << "after blanks to leave out";
  EXPECT_EQ(line_beyond_ascii("a = \"\"\"x\\\n\\\né\"\"\"\n"), 3u);
  EXPECT_EQ(line_beyond_ascii("a = 50\"é\"\n"), 1u) << "no string begins within a number";
  EXPECT_EQ(line_beyond_ascii("a = 1979-05-27 'é'\n"), 1u) << "nor after a date";
}

}  // namespace
}  // namespace lazydp
