#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lazydp/train/claim.h"
#include "tests/support/runs.h"

namespace lazydp {
namespace {

using oracle::plan_of;
using oracle::Settings;

Plan plan_with_noise_of(double std, Step steps) {
  Settings s;
  s.steps = steps;
  Plan plan = plan_of("lazydp", s);
  plan.rate_schedule = plan.noise_schedule = plan.clip_schedule = {};
  plan.mechanism.noise_multiplier = 1.0;
  plan.mechanism.clip_norm = 1.0;
  plan.mechanism.expected_batch = 1.0;
  plan.table_rate = std;
  return plan;
}

// Floats from 1 to 2 are 2^-23 apart.
constexpr double kUlpOfOne = 0x1p-23;

TEST(FloatNoise, IsMeasuredAgainstTheLargestFirstWeight) {
  EXPECT_NEAR(least_noise_in_ulps(plan_with_noise_of(1e-4, 1), 1.0f), 1e-4 / kUlpOfOne, 1e-6);
  EXPECT_NEAR(least_noise_in_ulps(plan_with_noise_of(1e-4, 1), 8.0f), 1e-4 / kUlpOfOne / 8, 1e-6);
}

TEST(FloatNoise, IsMeasuredAgainstWhatManyStepsAddUpTo) {
  const Step steps = 40'000;  // 200 times the noise of one: 2 in the end
  EXPECT_NEAR(least_noise_in_ulps(plan_with_noise_of(0.0101, steps), 0.1f),
              0.0101 / (2 * kUlpOfOne), 1e-3);
}

TEST(FloatNoise, TheFinestStepCounts) {
  Plan plan = plan_with_noise_of(1e-2, 1000);
  plan.rate_schedule = Schedule::parse("step:500:0.001");
  const double least = least_noise_in_ulps(plan, 1.0f);
  EXPECT_NEAR(least, 1e-5 / kUlpOfOne, 1.0);
  EXPECT_LT(least, kFineEnough);
}

TEST(FloatNoise, NoneIsFineEnough) {
  Plan plan = plan_with_noise_of(1.0, 10);
  plan.mechanism.noise_multiplier = 0.0;
  EXPECT_EQ(least_noise_in_ulps(plan, 1.0f), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace lazydp
