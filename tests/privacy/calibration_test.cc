#include "lazydp/privacy/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "lazydp/base/error.h"
#include "oracle.h"

namespace lazydp {
namespace {

constexpr Accountant kBoth[] = {Accountant::rdp, Accountant::pld};

// Reference value 6: noise for epsilon 8.
TEST(Calibration, ReferenceValue6) {
  EXPECT_NEAR(noise_for_budget({8, 1e-5}, 0.04, 2250, Accountant::rdp), 1.416, 0.001);
  EXPECT_NEAR(noise_for_budget({8, 1e-5}, 0.04, 2250, Accountant::pld), 1.348, 0.01);
}

TEST(Calibration, NoiseStaysWithinTheBudgetAndWastesLittle) {
  for (const Accountant accountant : kBoth) {
    for (const double target : {0.3, 2.0, 9.0}) {
      const double noise = noise_for_budget({target, 1e-6}, 0.01, 500, accountant);
      EXPECT_LE(epsilon(ledger_of(0.01, noise, 500), 1e-6, accountant), target);
      EXPECT_GT(epsilon(ledger_of(0.01, noise / 1.0002, 500), 1e-6, accountant), target);
    }
  }
}

TEST(Calibration, StepsStayWithinTheBudgetAndOneMoreDoesNot) {
  for (const Accountant accountant : kBoth) {
    for (const double noise : {0.8, 2.0}) {
      const Budget budget{3, 1e-6};
      const std::uint64_t steps = max_steps(budget, 0.02, noise, accountant);
      ASSERT_GT(steps, 0U);
      EXPECT_LE(epsilon(ledger_of(0.02, noise, steps), 1e-6, accountant), 3);
      EXPECT_GT(epsilon(ledger_of(0.02, noise, steps + 1), 1e-6, accountant), 3);
    }
  }
}

TEST(Calibration, NoiseAndStepsAreInverse) {
  for (const Accountant accountant : kBoth) {
    const double noise = noise_for_budget({2, 1e-6}, 0.01, 1000, accountant);
    const std::uint64_t steps = max_steps({2, 1e-6}, 0.01, noise, accountant);
    EXPECT_GE(steps, 1000U);
    EXPECT_LE(steps, 1002U);
  }
}

TEST(Calibration, TheTightAccountantNeedsLessNoiseAndAllowsMoreSteps) {
  EXPECT_LT(noise_for_budget({1, 1e-6}, 0.01, 100, Accountant::pld),
            noise_for_budget({1, 1e-6}, 0.01, 100, Accountant::rdp));
  EXPECT_GT(max_steps({1, 1e-6}, 0.01, 1, Accountant::pld),
            max_steps({1, 1e-6}, 0.01, 1, Accountant::rdp));
}

TEST(Calibration, NoStepFitsWithoutNoise) {
  for (const Accountant accountant : kBoth) EXPECT_EQ(max_steps({1, 1e-6}, 0.5, 0, accountant), 0U);
}

TEST(Calibration, StepsThatCostNothingAreCapped) {
  EXPECT_EQ(max_steps({100, 1e-6}, 1e-6, 1000, Accountant::rdp), kMostSteps);
}

// The least noise there is to choose was chosen by the edge of the range, and not by the budget.
TEST(Calibration, WhatEndsAtTheEdgeOfItsRangeIsRefused) {
  for (const Accountant accountant : kBoth) {
    for (const std::uint64_t steps : {1u, 100u}) {
      EXPECT_THROW(noise_for_budget({1e12, 1e-6}, 0.01, steps, accountant), UserError) << steps;
    }
    EXPECT_THROW(noise_for_budget(
                     {1, 1e-6}, [](double) { return Ledger(); }, accountant),
                 UserError)
        << "nothing is done that noise could be chosen for";
    EXPECT_GT(noise_for_budget({500, 1e-6}, 0.01, 10, accountant), 1e-3) << "large, but chosen";
  }
}

TEST(Calibration, ImpossibleBudgetsAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Accountant accountant : kBoth) {
    for (const Budget& bad : {Budget{0, 1e-6}, Budget{-1, 1e-6}, Budget{nan, 1e-6},
                              Budget{infinity, 1e-6}, Budget{1, 0}, Budget{1, 1}, Budget{1, nan}}) {
      EXPECT_THROW(noise_for_budget(bad, 0.01, 10, accountant), UserError);
      EXPECT_THROW(max_steps(bad, 0.01, 1, accountant), UserError);
    }
    EXPECT_THROW(noise_for_budget({1, 1e-6}, 0.01, 0, accountant), UserError);
    EXPECT_THROW(noise_for_budget({1, 1e-6}, 1.5, 10, accountant), UserError);
    EXPECT_THROW(max_steps({1, 1e-6}, 0.01, -1, accountant), UserError);
  }
  try {
    noise_for_budget({1e-4, 1e-9}, 0.5, 1000000000, Accountant::rdp);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("use the pld accountant"), std::string::npos);
  }
}

}  // namespace
}  // namespace lazydp
