// Quantiles and ratios of measurements are correct.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lazydp/base/text/number_text.h"
#include "lazydp/bench/step_times.h"

namespace lazydp {
namespace {

TEST(Quantile, InterpolatesBetweenNeighbours) {
  const std::vector<double> values = {4.0, 1.0, 3.0, 2.0};
  EXPECT_DOUBLE_EQ(median(values), 2.5);
  EXPECT_DOUBLE_EQ(quantile(values, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(quantile(values, 1.0), 4.0);
  EXPECT_DOUBLE_EQ(quantile(values, 0.1), 1.3);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Ratio, OfProportionalTimesIsExact) {
  const std::vector<double> to = {1.0, 5.0, 2.0, 9.0, 3.0};
  const std::vector<double> of = {3.0, 15.0, 6.0, 27.0, 9.0};
  const Ratio r = ratio(of, to);
  EXPECT_DOUBLE_EQ(r.median, 3.0);
  EXPECT_DOUBLE_EQ(r.low, 3.0);
  EXPECT_DOUBLE_EQ(r.high, 3.0);
}

TEST(Ratio, IgnoresASlowSpellThatHitsBoth) {
  const std::vector<double> to = {1.0, 1.0, 40.0, 1.0, 40.0};
  const std::vector<double> of = {2.0, 2.0, 80.0, 2.0, 80.0};
  EXPECT_DOUBLE_EQ(ratio(of, to).median, 2.0);
}

// The rounds' ratios are 1 ... 101. The median of 101 values lies within about 1.96 sqrt(101) / 2
// ranks of the middle: 41 to 61.
TEST(Ratio, IntervalIsThatOfTheMedian) {
  std::vector<double> of;
  for (int i = 1; i <= 101; ++i) of.push_back(i);
  const std::vector<double> to(of.size(), 1.0);
  const Ratio r = ratio(of, to);
  EXPECT_DOUBLE_EQ(r.median, 51.0);
  EXPECT_NEAR(r.low, 41.0, 2.0);
  EXPECT_NEAR(r.high, 61.0, 2.0);
}

}  // namespace
}  // namespace lazydp
