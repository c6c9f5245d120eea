// The variance clock against exact summation, where plain prefix sums would cancel.

#include "lazydp/noise/variance_clock.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace lazydp {
namespace {

struct Steps {
  std::vector<double> variance = {0.0};
  std::vector<double> shrink = {1.0};
  VarianceClock clock;

  void open(double step_size, double noise_std, double keep) {
    clock.open(step_size, noise_std, keep);
    variance.push_back(step_size * noise_std * step_size * noise_std);
    shrink.push_back(keep);
  }
  // The definition, step by step: w <- shrink w + noise.
  Owed walk(Step after, Step through) const {
    long double a = 1.0L;
    long double v = 0.0L;
    for (Step t = after + 1; t <= through; ++t) {
      a *= shrink[t];
      v = v * shrink[t] * shrink[t] + variance[t];
    }
    return {static_cast<double>(a), static_cast<double>(v)};
  }
};

TEST(VarianceClock, ComposesAnyRunOfStepsUnderDecayAndSchedules) {
  std::mt19937 rng(1);
  std::uniform_real_distribution<double> uniform(0.1, 1.0);
  Steps s;
  constexpr Step kSteps = 1500;  // 23 complete blocks of 64: five levels of the sparse table
  for (Step t = 1; t <= kSteps; ++t) s.open(uniform(rng), uniform(rng), 1.0 - 0.01 * uniform(rng));
  EXPECT_EQ(s.clock.now(), kSteps);
  for (Step through = 0; through <= kSteps; through += 1 + through % 37) {
    for (Step after = 0; after <= through; after += 1 + after % 29) {
      const Owed expected = s.walk(after, through);
      const Owed owed = s.clock.over(after, through);
      ASSERT_NEAR(owed.shrink, expected.shrink, 1e-12 * expected.shrink) << after << "…" << through;
      ASSERT_NEAR(owed.variance, expected.variance, 1e-12 * expected.variance)
          << after << "…" << through;
    }
  }
}

TEST(VarianceClock, AnswersWhileItGrows) {
  Steps s;
  for (Step t = 1; t <= 300; ++t) {
    s.open(1.0 / t, 2.0, 0.99);
    for (Step after = 0; after <= t; after += 7) {
      ASSERT_NEAR(s.clock.over(after, t).variance, s.walk(after, t).variance,
                  1e-12 * s.walk(after, t).variance);
    }
  }
}

// A learning rate that falls by eight orders of magnitude over a million steps: the variance of the
// last step is 1e-16 of the first one's, far below the last bit of a plain sum of them all.
TEST(VarianceClock, LateWindowsKeepNineDigitsUnderStrongDecay) {
  constexpr Step kSteps = 1'000'000;
  const double per_step = std::pow(1e-8, 1.0 / (kSteps - 1));
  Steps s;
  double rate = 1.0;
  for (Step t = 1; t <= kSteps; ++t, rate *= per_step) s.open(rate, 1.0, 1.0);
  for (const Step window : {1u, 2u, 10u, 63u, 64u, 65u, 1000u, 100'000u}) {
    for (const Step through : {kSteps, kSteps - 1, kSteps - 12'345, kSteps / 2}) {
      const double expected = s.walk(through - window, through).variance;
      const double owed = s.clock.over(through - window, through).variance;
      ASSERT_GT(owed, 0.0);
      EXPECT_NEAR(owed / expected, 1.0, 1e-9) << window << " steps through " << through;
    }
  }
}

// The terms that are precomputed for recent steps equal those that are computed for others.
TEST(VarianceClock, WhatIsDueIsWhatIsOwedWithItsRootTaken) {
  Steps s;
  for (Step t = 1; t <= 700; ++t) s.open(1.0 / t, 2.0, 1.0 - 0.001 / t);
  for (const Step through : {1u, 5u, 63u, 64u, 255u, 256u, 300u, 700u}) {
    const OwedThrough owed = s.clock.through(through);
    for (Step after = 0; after <= through; ++after) {
      const Owed expected = s.walk(after, through);
      const NoiseTerm due = owed.term_since(after);
      ASSERT_FLOAT_EQ(due.shrink, static_cast<float>(expected.shrink)) << after << "…" << through;
      ASSERT_FLOAT_EQ(due.std, static_cast<float>(std::sqrt(expected.variance)))
          << after << "…" << through;
    }
  }
}

TEST(VarianceClock, NothingIsOwedByWhoIsUpToDate) {
  Steps s;
  for (Step t = 1; t <= 200; ++t) {
    s.open(0.5, 1.0, 0.9);
    EXPECT_TRUE(s.clock.over(t, t).nothing());
  }
}

TEST(VarianceClock, AGradientIsDividedByTheDecayItIsYetToGoThrough) {
  VarianceClock clock;
  clock.open(0.5, 1.0, 0.8);
  EXPECT_FLOAT_EQ(clock.gradient_scale(), 0.5f / 0.8f);
}

}  // namespace
}  // namespace lazydp
