#include "lazydp/privacy/rdp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracle.h"

namespace lazydp {
namespace {

double integer_orders_only(double sampling_rate, double sigma, double steps, double delta) {
  double best = std::numeric_limits<double>::infinity();
  for (double order = 2; order <= 256; ++order) {
    const double rdp = steps * rdp_of_step(sampling_rate, sigma, order);
    best = std::min(best, rdp + std::log1p(-1 / order) - std::log(delta * order) / (order - 1));
  }
  return best;
}

// Reference values 1 to 4: Renyi accounting.
TEST(Rdp, ReferenceValues1To4) {
  EXPECT_NEAR(rdp_epsilon(ledger_of(0.04, 1.5, 2250), 1e-5), 7.32911117143, 1e-9);
  EXPECT_NEAR(rdp_epsilon(ledger_of(150.0 / 60000, 1.3, 6000), 1e-5), 0.7242234026, 1e-9);
  EXPECT_NEAR(rdp_epsilon(ledger_of(100.0 / 1e5, 1, 30000), 1e-7), 1.4154988495, 1e-9);
  EXPECT_NEAR(rdp_epsilon(ledger_of(0.01, 0.7, 120), 1e-5), 3.2391922, 1e-7);
}

TEST(Rdp, ReferenceValues1And4NeedFractionalOrders) {
  EXPECT_NEAR(integer_orders_only(0.04, 1.5, 2250, 1e-5), 7.32988, 1e-5);
  EXPECT_NEAR(integer_orders_only(0.01, 0.7, 120, 1e-5), 3.39941, 1e-5);
}

TEST(Rdp, ReferenceValue9) {
  EXPECT_NEAR(50 * rdp_of_step(0.01, 2.5, 5), 2.18075656e-3, 1e-11);
  EXPECT_NEAR(50 * rdp_of_step(0.01, 2.5, 50), 2.38460375e-2, 1e-10);
  EXPECT_NEAR(50 * rdp_of_step(0.01, 2.5, 100), 167.416308, 1e-6);
}

TEST(Rdp, ReferenceValue10) {
  EXPECT_NEAR(rdp_epsilon(ledger_of(1, 4.530877117, 1), 1e-6), 1, 1e-6);
}

TEST(Rdp, EveryOrderAgreesWithNumericalIntegration) {
  for (const double q : {1e-5, 1e-3, 0.04, 0.3, 0.5, 0.9, 0.999}) {
    for (const double sigma : {0.4, 0.8, 1.5, 6.0}) {
      for (const double order : {1.1, 1.5, 1.9, 2.0, 2.1, 3.7, 6.0, 6.5, 10.9, 16.0}) {
        const double exact = log_moment(q, sigma, order) / (order - 1);
        const double ours = rdp_of_step(q, sigma, order);
        EXPECT_NEAR(ours, exact, 1e-9 * exact + 2e-13) << q << " " << sigma << " " << order;
        EXPECT_GE(ours, exact * (1 - 1e-10));
      }
    }
  }
}

TEST(Rdp, TinySamplingRatesKeepTheirDigitsAtIntegerOrders) {
  // At order 2 the moment is 1 + q^2 (exp(1/sigma^2) - 1).
  const double q = 1e-9;
  EXPECT_NEAR(rdp_of_step(q, 1, 2) / (q * q * std::expm1(1)), 1, 1e-12);
}

TEST(Rdp, WithoutSubsamplingItIsTheGaussians) {
  EXPECT_DOUBLE_EQ(rdp_of_step(1, 2, 2.5), 2.5 / 8);
  EXPECT_NEAR(rdp_of_step(1 - 1e-12, 2, 2.5), 2.5 / 8, 1e-9);
}

TEST(Rdp, NothingDoneCostsNothingAndNoNoiseCostsEverything) {
  EXPECT_EQ(rdp_epsilon(Ledger(), 1e-5), 0);
  EXPECT_EQ(rdp_delta(Ledger(), 1), 0);
  EXPECT_TRUE(std::isinf(rdp_epsilon(ledger_of(0.1, 0, 1), 1e-5)));
  EXPECT_EQ(rdp_delta(ledger_of(0.1, 0, 1), 1), 1);
  EXPECT_TRUE(std::isinf(rdp_of_step(0.1, 0, 2)));
}

TEST(Rdp, DeltaInvertsEpsilon) {
  for (const double delta : {1e-3, 1e-6, 1e-9}) {
    const Ledger ledger = ledger_of(0.01, 1.1, 3000);
    EXPECT_NEAR(rdp_delta(ledger, rdp_epsilon(ledger, delta)) / delta, 1, 1e-9);
  }
}

TEST(Rdp, PhasesAddUp) {
  Ledger phases;
  phases.record({0.01, 1.0, 500});
  phases.record({0.02, 2.0, 100});
  phases.record({0.01, 1.0, 500});
  double best = std::numeric_limits<double>::infinity();
  for (const double order : rdp_orders()) {
    const double rdp = 1000 * rdp_of_step(0.01, 1, order) + 100 * rdp_of_step(0.02, 2, order);
    best = std::min(best, rdp + std::log1p(-1 / order) - std::log(1e-5 * order) / (order - 1));
  }
  EXPECT_NEAR(rdp_epsilon(phases, 1e-5), best, 1e-10);
}

TEST(Rdp, MoreStepsLessNoiseAndMoreSamplingCostMore) {
  const double base = rdp_epsilon(ledger_of(0.01, 1, 1000), 1e-6);
  EXPECT_GT(rdp_epsilon(ledger_of(0.01, 1, 1100), 1e-6), base);
  EXPECT_GT(rdp_epsilon(ledger_of(0.01, 0.95, 1000), 1e-6), base);
  EXPECT_GT(rdp_epsilon(ledger_of(0.011, 1, 1000), 1e-6), base);
  EXPECT_LT(rdp_epsilon(ledger_of(0.01, 1, 1000), 1e-5), base);
}

}  // namespace
}  // namespace lazydp
