#include <gtest/gtest.h>

#include <cmath>

#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/binomial.h"

namespace lazydp {
namespace {

// From scipy.stats.norm.ppf.
TEST(NormalQuantile, HasTheTabulatedValues) {
  EXPECT_NEAR(normal_quantile(1e-12), -7.034483825301131, 1e-9);
  EXPECT_NEAR(normal_quantile(5e-7), -4.891638475698591, 1e-9);
  EXPECT_NEAR(normal_quantile(0.025), -1.9599639845400545, 1e-12);
  EXPECT_NEAR(normal_quantile(0.7), 0.5244005127080409, 1e-12);
  EXPECT_NEAR(normal_quantile(0.5), 0.0, 1e-12);
}

// Reference values 7 and 10: a composed Gaussian, and the exact noise for epsilon 1.
TEST(GaussianDp, HasTheReferenceValues) {
  EXPECT_NEAR(gaussian_delta(std::sqrt(3.0) / std::sqrt(3.0), 1.0), 0.126936, 1e-6);
  EXPECT_NEAR(gaussian_epsilon(1 / 4.22468, 1e-6), 1.0, 1e-5);
  EXPECT_NEAR(gaussian_epsilon(1 / 4.530877117, 1e-6), 0.92739, 1e-5);
}

TEST(GaussianDp, AgreesWithTheAccountantOfLosses) {
  for (const double sigma : {0.3, 1.0, 20.0}) {
    Ledger ledger;
    ledger.record({1.0, sigma, 4});
    const double exact = gaussian_epsilon(2 / sigma, 1e-5);
    EXPECT_NEAR(epsilon(ledger, 1e-5, Accountant::pld), exact, 1e-3 * exact);
  }
}

TEST(GaussianDp, EpsilonAndDeltaAreInverse) {
  for (const double mu : {0.05, 0.5, 6.0, 40.0}) {
    const double e = gaussian_epsilon(mu, 1e-5);
    EXPECT_NEAR(gaussian_delta(mu, e) / 1e-5, 1.0, 1e-6) << mu;
  }
  EXPECT_EQ(gaussian_epsilon(0.0, 1e-5), 0.0);
  EXPECT_EQ(gaussian_epsilon(1e-6, 1e-5), 0.0);
}

TEST(GaussianDp, MuIsTheDistanceOfTwoNormalsThatATestTellsApart) {
  const double mu = 1.3;
  for (const double threshold : {-1.0, 0.4, 2.0}) {
    EXPECT_NEAR(gaussian_mu(normal_cdf(-threshold), normal_cdf(threshold - mu)), mu, 1e-9);
  }
  EXPECT_EQ(gaussian_mu(0.5, 0.5), 0.0);
  EXPECT_EQ(gaussian_mu(1.0, 1.0), 0.0);
}

}  // namespace
}  // namespace lazydp
