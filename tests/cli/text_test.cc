// Numbers and names, read and written.

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/parse_value.h"

namespace lazydp::cli {
namespace {

TEST(Values, AWholeTextIsANumberOrNone) {
  EXPECT_EQ(number("1e-6"), 1e-6);
  EXPECT_TRUE(std::isinf(*number("inf")));
  for (const char* text : {"", " 1", "1 ", "1x", "nan", "-nan", "--1", "1e999"}) {
    EXPECT_FALSE(number(text).has_value()) << text;
  }
}

TEST(Values, WholeNumbersHaveBounds) {
  EXPECT_EQ(whole_number("n", "18446744073709551615", 0, ~std::uint64_t{0}), ~std::uint64_t{0});
  for (const char* text : {"", "0", "11", "-1", "1.5", "18446744073709551616"}) {
    EXPECT_THROW(whole_number("n", text, 1, 10), UserError) << text;
  }
}

TEST(Values, PartsKeepWhatIsEmpty) {
  EXPECT_EQ(parts_of("a,,b", ","), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(parts_of("", ","), std::vector<std::string>{""});
  EXPECT_EQ(parts_of("1-2,3", "-,").size(), 3u);
}

TEST(NumberText, RoundsUp) {
  EXPECT_EQ(rounded_up(2.46124, 5), "2.4613");
  EXPECT_EQ(rounded_up(1.0000000000000002, 5), "1.0001");
  EXPECT_EQ(rounded_up(9.99991, 5), "10");
  EXPECT_EQ(rounded_up(0.25, 5), "0.25");
  EXPECT_EQ(rounded_up(1.23456e-7, 3), "1.24e-07");
  EXPECT_EQ(rounded_up(0.0, 5), "0");
  EXPECT_EQ(fixed_up(7.1901, 2), "7.20");
  EXPECT_EQ(fixed_up(0.000366, 2), "0.01");
  EXPECT_EQ(fixed_up(0.07, 2), "0.07");
  EXPECT_EQ(fixed_up(3.0, 2), "3.00");
}

TEST(NumberText, IsReadable) {
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(-1000), "-1,000");
  EXPECT_EQ(human_bytes(999), "999 bytes");
  EXPECT_EQ(human_bytes(96'136'908'288.0), "96.1 GB");
  EXPECT_EQ(human_bytes(999'990), "1.0 MB");
  EXPECT_EQ(human_duration(0.25), "250 ms");
  EXPECT_EQ(human_duration(125), "2 min 05 s");
  EXPECT_EQ(human_duration(7800), "2 h 10 min");
  EXPECT_EQ(fixed(std::nan(""), 2), "-");
}

TEST(Nearest, FindsWhatWasMeantAndNothingElse) {
  constexpr std::array<std::string_view, 3> kNames = {"--batch", "--bottom", "--epochs"};
  EXPECT_EQ(nearest("--bacth", kNames), "--batch");
  EXPECT_EQ(nearest("--epoch", kNames), "--epochs");
  EXPECT_EQ(nearest("--xyzzy-xyzzy", kNames), "");
}

}  // namespace
}  // namespace lazydp::cli
