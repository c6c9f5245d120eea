// Schedules: their shapes, that no factor is zero, and the texts that are refused.

#include "lazydp/train/schedule.h"

#include <gtest/gtest.h>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

TEST(Schedule, HasTheNamedShape) {
  EXPECT_DOUBLE_EQ(Schedule::parse("constant").factor(7, 10), 1.0);
  EXPECT_DOUBLE_EQ(Schedule::parse("linear").factor(1, 10), 1.0);
  EXPECT_DOUBLE_EQ(Schedule::parse("linear").factor(10, 10), 0.1);
  EXPECT_DOUBLE_EQ(Schedule::parse("poly:2").factor(10, 10), 0.1 * 0.1);
  EXPECT_NEAR(Schedule::parse("cosine").factor(6, 10), 0.5, 1e-12);
  EXPECT_DOUBLE_EQ(Schedule::parse("step:3:0.5").factor(3, 10), 1.0);
  EXPECT_DOUBLE_EQ(Schedule::parse("step:3:0.5").factor(4, 10), 0.5);
  EXPECT_DOUBLE_EQ(Schedule::parse("step:3:0.5").factor(7, 10), 0.25);
  EXPECT_DOUBLE_EQ(Schedule::parse("warmup:4,linear").factor(1, 10), 0.25);
  EXPECT_DOUBLE_EQ(Schedule::parse("warmup:4,linear").factor(4, 10), 1.0);
  EXPECT_DOUBLE_EQ(Schedule::parse("warmup:4,linear").factor(5, 10), 1.0);
}

TEST(Schedule, IsNeverZeroNorAboveOne) {
  for (const char* text : {"constant", "linear", "poly:3", "cosine", "step:2:0.9",
                           "warmup:100,cosine", "warmup:3,poly:0.5"}) {
    for (Step t = 1; t <= 50; ++t) {
      const double factor = Schedule::parse(text).factor(t, 50);
      EXPECT_GT(factor, 0.0) << text << " step " << t;
      EXPECT_LE(factor, 1.0) << text << " step " << t;
    }
  }
}

TEST(Schedule, RefusesNonsenseWithTheListOfWhatIsAllowed) {
  for (const char* text : {"", "lineer", "poly:", "poly:-1", "poly:nan", "step:0:0.5", "step:3",
                           "step:3:2", "warmup:0,linear", "warmup:5", "linear ", "cosine,linear"}) {
    try {
      Schedule::parse(text);
      FAIL() << text;
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find("step:EVERY:FACTOR"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace lazydp
