// A claim's trade-off curve agrees with closed forms.

#include "lazydp/privacy/trade_off.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lazydp/base/error.h"
#include "lazydp/privacy/binomial.h"

namespace lazydp {
namespace {

double gaussian_curve(double mu, double false_alarm) {
  return normal_cdf(-normal_quantile(false_alarm) - mu);
}

constexpr double kRates[] = {1e-6, 1e-4, 0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.99};

TEST(TradeOff, OfFullBatchesIsTheGaussianOne) {
  for (const double mu : {0.27, 0.72, 1.7, 4.0}) {
    Ledger ledger;
    ledger.record({1.0, 2.0 / mu, 3});
    ledger.record({1.0, 2.0 / mu, 1});
    const TradeOff by_accountant = TradeOff::of(ledger);
    const TradeOff by_formula = TradeOff::gaussian(mu);
    for (const double rate : kRates) {
      const double exact = gaussian_curve(mu, rate);
      for (const TradeOff* curve : {&by_accountant, &by_formula}) {
        EXPECT_LE(curve->least_miss(rate), exact * (1 + 1e-9)) << mu << " at " << rate;
        EXPECT_GE(curve->least_miss(rate), exact * 0.98 - 1e-9) << mu << " at " << rate;
      }
    }
  }
}

// One step of Poisson samples: the best test of N(0, 1) against (1-q) N(0, 1) + q N(mu, 1) has a
// threshold, and by it a curve; the other direction's is its inverse.
TEST(TradeOff, OfOneSampledStepIsBelowBothDirectionsAndClose) {
  const double q = 0.2, sigma = 0.8;
  Ledger ledger;
  ledger.record({q, sigma, 1});
  const TradeOff curve = TradeOff::of(ledger);
  for (double z = -3; z <= 4; z += 0.25) {
    const double alarm = normal_cdf(-z);
    const double miss = (1 - q) * normal_cdf(z) + q * normal_cdf(z - 1 / sigma);
    EXPECT_LE(curve.least_miss(alarm), miss + 1e-9);
    EXPECT_LE(curve.least_miss(miss), alarm + 1e-9);
    if (z >= 1.5) {  // this direction decides here
      EXPECT_GE(curve.least_miss(alarm), miss * 0.995) << z;
    }
  }
}

TEST(TradeOff, OfOnePointIsTwoLines) {
  const TradeOff curve(std::vector<TradeOff::Point>{{std::log(3.0), 0.1}});
  EXPECT_NEAR(curve.least_miss(0.0), 0.9, 1e-12);
  EXPECT_NEAR(curve.least_miss(0.1), 0.6, 1e-12);
  EXPECT_NEAR(curve.least_miss(0.6), 0.1, 1e-12);
  EXPECT_NEAR(curve.least_miss(0.95), 0.0, 1e-12);
}

TEST(TradeOff, IsSymmetric) {
  Ledger ledger;
  ledger.record({0.1, 0.9, 50});
  const TradeOff curve = TradeOff::of(ledger);
  for (const double rate : {0.001, 0.03, 0.2, 0.4}) {
    EXPECT_NEAR(curve.least_miss(curve.least_miss(rate)), rate, 1e-9);
  }
}

TEST(TradeOff, PromisesNothingWithoutNoiseAndAllWithoutSteps) {
  Ledger silent;
  silent.record({1.0, 0.0, 1});
  EXPECT_EQ(TradeOff::of(silent).least_miss(0.01), 0.0);
  EXPECT_NEAR(TradeOff::of({}).least_miss(0.25), 0.75, 1e-12);
}

TEST(TradeOff, RefusesWhatNoMechanismIs) {
  EXPECT_THROW(TradeOff(std::vector<TradeOff::Point>{{-1, 0.1}}), UserError);
  EXPECT_THROW(TradeOff(std::vector<TradeOff::Point>{{1, 2}}), UserError);
}

}  // namespace
}  // namespace lazydp
