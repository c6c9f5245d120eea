#include "lazydp/privacy/pld/pld.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <vector>

#include "lazydp/privacy/rdp.h"
#include "oracle.h"

namespace lazydp {
namespace {

// The upper bound is at or above the reference (to its printed digits) and hardly above it.
void expect_epsilon(const Ledger& ledger, double delta, double reference, double digit) {
  const double upper = pld_epsilon(ledger, delta);
  EXPECT_GE(upper, reference - digit);
  EXPECT_LE(upper, reference * (1 + 1e-4) + digit);
  EXPECT_LE(pld_epsilon_lower(ledger, delta), reference + digit);
}

// Reference values 4 and 5: tight accounting.
TEST(Pld, ReferenceValue4) {
  expect_epsilon(ledger_of(0.01, 0.7, 120), 1e-5, 2.4612381, 1e-7);
}

TEST(Pld, ReferenceValue5) {
  expect_epsilon(ledger_of(0.001, 0.8, 20000), 1e-6, 1.285927, 1e-6);
  expect_epsilon(ledger_of(0.05, 3, 1000), 1e-6, 2.517450, 1e-6);
  expect_epsilon(ledger_of(0.05, 1.5, 1000), 1e-6, 6.199692, 1e-6);
  expect_epsilon(ledger_of(0.001, 2, 100), 1e-6, 0.018917, 1e-6);
}

TEST(Pld, ReferenceValues7And8) {
  EXPECT_NEAR(pld_delta(ledger_of(1, std::sqrt(3.0), 3), 1), 0.126936, 5e-6);
  EXPECT_NEAR(pld_delta(ledger_of(0.2, 0.5, 3), 1), 0.15594, 1e-5);
}

TEST(Pld, ReferenceValue10) {
  expect_epsilon(ledger_of(1, 4.530877117, 1), 1e-6, 0.92739, 1e-5);
  expect_epsilon(ledger_of(1, 4.22468, 1), 1e-6, 1, 1e-5);
}

TEST(Pld, WithoutSubsamplingItIsTheAnalyticGaussian) {
  for (const double sigma : {0.3, 1.0, 5.0, 50.0}) {
    for (const std::uint64_t steps : {1, 30, 3000}) {
      for (const double delta : {1e-3, 1e-6, 1e-9}) {
        const double m = std::sqrt(static_cast<double>(steps)) / sigma;
        if (m > 40) continue;  // the closed form overflows
        const double exact = gaussian_epsilon(m, delta);
        const Ledger ledger = ledger_of(1, sigma, steps);
        const double upper = pld_epsilon(ledger, delta);
        EXPECT_GE(upper, exact * (1 - 1e-9)) << sigma << " " << steps << " " << delta;
        EXPECT_LE(upper, exact * (1 + 5e-5)) << sigma << " " << steps << " " << delta;
        EXPECT_LE(pld_epsilon_lower(ledger, delta), exact * (1 + 1e-9));
      }
    }
  }
}

TEST(Pld, TinyDeltasAreRelativelyExact) {
  // Far below what plain transforms in double precision resolve.
  for (const double epsilon : {6.0, 12.0, 20.0}) {
    const double exact = gaussian_delta(1, epsilon);  // 5e-9, 1.6e-32, 3e-86
    const double ours = pld_delta(ledger_of(1, 10, 100), epsilon);
    EXPECT_GE(ours, exact * (1 - 1e-6));
    EXPECT_LE(ours, exact * (1 + 1e-2)) << epsilon;
  }
}

TEST(Pld, BothDirectionsAgreeWithIntegrationInThePlane) {
  struct Case {
    SampledDensities first, second;
    double epsilon;
  };
  const std::vector<Case> cases = {{{0.2, 0.5}, {0.2, 0.5}, 1.0},
                                   {{0.5, 1.0}, {0.1, 0.7}, 0.3},
                                   {{0.9, 2.0}, {0.9, 1.0}, 0.0},
                                   {{0.01, 0.6}, {0.3, 3.0}, 0.05}};
  for (const Case& c : cases) {
    const TwoDeltas exact = two_step_deltas(c.first, c.second, c.epsilon, 2000);
    const double worst = std::max(exact.remove, exact.add);
    Ledger ledger;
    ledger.record({c.first.sampling_rate, c.first.sigma, 1});
    ledger.record({c.second.sampling_rate, c.second.sigma, 1});
    EXPECT_NEAR(pld_delta(ledger, c.epsilon) / worst, 1, 2e-4);
    EXPECT_NEAR(pld_delta_lower(ledger, c.epsilon) / worst, 1, 2e-4);
  }
}

TEST(Pld, LowerAndUpperBoundEncloseTheTruthClosely) {
  for (const double q : {1e-4, 0.01, 0.3}) {
    for (const double sigma : {0.6, 1.0, 4.0}) {
      for (const std::uint64_t steps : {1, 40, 2500}) {
        const Ledger ledger = ledger_of(q, sigma, steps);
        for (const double delta : {1e-8, 1e-5}) {
          const double lower = pld_epsilon_lower(ledger, delta);
          const double upper = pld_epsilon(ledger, delta);
          EXPECT_LE(lower, upper) << q << " " << sigma << " " << steps << " " << delta;
          EXPECT_LE(upper - lower, std::max(0.01 * upper, 0.005))
              << q << " " << sigma << " " << steps << " " << delta;
        }
      }
    }
  }
}

TEST(Pld, IsTighterThanRenyi) {
  for (const double q : {0.001, 0.05, 1.0}) {
    for (const double sigma : {0.7, 2.0}) {
      for (const std::uint64_t steps : {1, 1000}) {
        const Ledger ledger = ledger_of(q, sigma, steps);
        EXPECT_LT(pld_epsilon(ledger, 1e-6), 0.99 * rdp_epsilon(ledger, 1e-6));
        EXPECT_LE(pld_delta(ledger, 2), rdp_delta(ledger, 2));
      }
    }
  }
}

TEST(Pld, DeltaInvertsEpsilon) {
  for (const double delta : {1e-3, 1e-6, 1e-10}) {
    const Ledger ledger = ledger_of(0.01, 1.1, 3000);
    EXPECT_NEAR(pld_delta(ledger, pld_epsilon(ledger, delta)) / delta, 1, 1e-3);
  }
}

TEST(Pld, TwoHalvesMakeAWhole) {
  Ledger apart;
  apart.record({0.01, 1.0, 500});
  apart.record({0.03, 2.0, 40});
  apart.record({0.01, 1.0, 500});
  Ledger together;
  together.record({0.03, 2.0, 40});
  together.record({0.01, 1.0, 1000});
  EXPECT_NEAR(pld_epsilon(apart, 1e-6), pld_epsilon(together, 1e-6), 1e-9);

  // A second phase of hardly different noise: composed as such, not as one phase.
  Ledger nearly;
  nearly.record({0.01, 1.0, 500});
  nearly.record({0.01, 1.0 + 1e-9, 500});
  const double whole = pld_epsilon(ledger_of(0.01, 1.0, 1000), 1e-6);
  EXPECT_NEAR(pld_epsilon(nearly, 1e-6) / whole, 1, 1e-4);
}

TEST(Pld, MoreStepsLessNoiseAndMoreSamplingCostMore) {
  double last = 0;
  for (const std::uint64_t steps : {1, 10, 11, 100, 110, 1000, 1100, 20000}) {
    const double now = pld_epsilon(ledger_of(0.01, 1, steps), 1e-6);
    EXPECT_GT(now, last) << steps;
    last = now;
  }
  last = 1e9;
  for (const double sigma : {0.5, 0.51, 0.8, 0.82, 1.0, 2.0, 2.02, 10.0}) {
    const double now = pld_epsilon(ledger_of(0.01, sigma, 300), 1e-6);
    EXPECT_LT(now, last) << sigma;
    last = now;
  }
  last = 0;
  for (const double q : {1e-4, 1e-3, 1.01e-3, 0.1, 0.102, 0.9, 1.0}) {
    const double now = pld_epsilon(ledger_of(q, 1, 300), 1e-6);
    EXPECT_GT(now, last) << q;
    last = now;
  }
}

TEST(Pld, NothingDoneCostsNothingAndNoNoiseCostsEverything) {
  EXPECT_EQ(pld_epsilon(Ledger(), 1e-5), 0);
  EXPECT_EQ(pld_delta(Ledger(), 1), 0);
  EXPECT_TRUE(std::isinf(pld_epsilon(ledger_of(0.1, 0, 1), 1e-5)));
  EXPECT_EQ(pld_delta(ledger_of(0.1, 0, 1), 1), 1);
}

TEST(Pld, LargeDeltasCostNoEpsilon) {
  // delta(0) of one step is q * (2 Phi(1 / 2 sigma) - 1).
  const double at_zero = 0.1 * (2 * normal_cdf(0.5) - 1);
  EXPECT_EQ(pld_epsilon(ledger_of(0.1, 1, 1), at_zero * 1.001), 0);
  EXPECT_GT(pld_epsilon(ledger_of(0.1, 1, 1), at_zero * 0.999), 0);
  EXPECT_NEAR(pld_delta(ledger_of(0.1, 1, 1), 0) / at_zero, 1, 1e-4);
}

TEST(Pld, ExtremeSettingsStayFiniteOrderedAndQuick) {
  struct Setting {
    double q, sigma;
    std::uint64_t steps;
    double delta;
  };
  const std::vector<Setting> settings = {
      {1e-6, 0.3, 1000000, 1e-9},  {1e-6, 50, 1000000, 1e-9},  {1, 0.3, 1000000, 1e-9},
      {1, 50, 1000000, 1e-3},      {1e-3, 1, 1000000, 1e-6},   {1e-12, 1, 1000, 1e-15},
      {0.5, 0.01, 100, 1e-5},      {1, 1e6, 1, 1e-9},          {0.01, 1, 1000, 1e-200},
      {0.999999999, 1, 100, 1e-5}, {0.3, 1, 1000000000, 1e-6}, {0.5, 0.5, 3, 0.999}};
  for (const Setting& s : settings) {
    const Ledger ledger = ledger_of(s.q, s.sigma, s.steps);
    const auto start = std::chrono::steady_clock::now();
    const double upper = pld_epsilon(ledger, s.delta);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::cout << "  q " << s.q << ", sigma " << s.sigma << ", " << s.steps << " steps, delta "
              << s.delta << ": epsilon " << upper << " in " << took.count() << " s\n";
    EXPECT_TRUE(std::isfinite(upper));
    EXPECT_GE(upper, 0);
    EXPECT_LE(upper, rdp_epsilon(ledger, s.delta));
  }
}

}  // namespace
}  // namespace lazydp
