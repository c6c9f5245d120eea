// Numbers and times as logs have them.

#include "lazydp/data/number.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <string>

namespace lazydp {
namespace {

double number(std::string_view text) {
  double value = 0.0;
  return parse_number(text, value) == std::errc() ? value : -1e300;
}

TEST(Number, TakesCommasBetweenGroupsOfThreeDigits) {
  EXPECT_EQ(number("1,234"), 1234.0);
  EXPECT_EQ(number("+1,234,567.5"), 1234567.5);
  EXPECT_EQ(number("-12,345"), -12345.0);
  std::int64_t whole = 0;
  EXPECT_EQ(parse_number("1,234,567", whole), std::errc());
  EXPECT_EQ(whole, 1'234'567);
  for (const char* bad : {"1,23", "1,2345", ",123", "1234,567", "1,234,", "1,,234", "1.5,234",
                          "1,234x", "-,123", "1,2a4", "1,234.5.6", "1,234,56"}) {
    EXPECT_EQ(number(bad), -1e300) << bad;
    EXPECT_NE(parse_number(bad, whole), std::errc()) << bad;
  }
}

TEST(Number, TakesTimesAsSecondsSince1970) {
  EXPECT_EQ(number("1970-01-01"), 0.0);
  EXPECT_EQ(number("1970-01-02 00:00"), 86400.0);
  EXPECT_EQ(number("2024-02-29T12:30:15"), 1709209815.0);  // date -ud 2024-02-29T12:30:15 +%s
  EXPECT_EQ(number("2024-02-29T12:30:15.25Z"), 1709209815.25);
  EXPECT_EQ(number("2024-02-29T12:30:15+02:00"), 1709209815.0 - 7200.0);
  EXPECT_EQ(number("2024-02-29 12:30:15-0530"), 1709209815.0 + 19800.0);
  EXPECT_EQ(number("2024-02-29 12:30:15+02"), 1709209815.0 - 7200.0);
  EXPECT_EQ(number("2024-02-29 12:30:15 UTC"), 1709209815.0);
  EXPECT_EQ(number("1969-12-31T23:59:59.5"), -0.5);
  for (const char* bad :
       {"2023-02-29", "2024-13-01", "2024-1-1", "2024-01-32", "24-01-01", "2024-01-01T",
        "2024-01-01T24:00", "2024-01-01T12", "2024-01-01T12:60", "2024-01-01T12:30:15.",
        "2024-01-01T12:30:15+", "2024-01-01T12:30:15+2", "2024-01-01T12:30:15 CET", "2024-01-01x",
        "2024-00-01", "2024/01/01", "2024-01-01T12:30:15+02:00x"}) {
    EXPECT_EQ(number(bad), -1e300) << bad;
  }
}

// The C library's calendar is another implementation.
TEST(Number, AgreesWithTheLibrarysCalendar) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    const auto time = static_cast<std::time_t>(random() % 8'000'000'000u) - 2'000'000'000;
    std::tm parts{};
    gmtime_r(&time, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    EXPECT_EQ(number(text), static_cast<double>(time)) << text;
  }
}

TEST(Number, GivesATimeOneValueHoweverItIsDivided) {
  EXPECT_EQ(seconds_of(1'709'209'815'250'000, 1'000'000), number("2024-02-29T12:30:15.25Z"));
  EXPECT_EQ(seconds_of(1'709'209'815'123'456'789, 1'000'000'000),
            number("2024-02-29T12:30:15.123456789Z"));
  EXPECT_EQ(seconds_of(-500, 1000), -0.5);
}

}  // namespace
}  // namespace lazydp
