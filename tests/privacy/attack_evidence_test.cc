#include "lazydp/privacy/attack_evidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lazydp/privacy/binomial.h"

namespace lazydp {
namespace {

// From scipy.stats.beta.isf(alpha, hits + 1, trials - hits).
TEST(BinomialUpperBound, HasTheTabulatedValues) {
  EXPECT_NEAR(binomial_upper_bound(0, 100, 1e-6), 0.12903641004391936, 1e-10);
  EXPECT_NEAR(binomial_upper_bound(3, 50, 0.025), 0.16548194660377288, 1e-10);
  EXPECT_NEAR(binomial_upper_bound(2500, 10000, 5e-7), 0.27162839095992036, 1e-10);
  EXPECT_NEAR(binomial_upper_bound(499, 1000, 5e-7), 0.5763722363885914, 1e-10);
  EXPECT_NEAR(binomial_upper_bound(9999, 10000, 0.01), 0.9999989949669197, 1e-10);
  EXPECT_EQ(binomial_upper_bound(10, 10, 0.01), 1.0);
}

AttackScores normal_scores(double mu, std::size_t runs, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  AttackScores scores;
  for (std::size_t i = 0; i < runs; ++i) {
    scores.without.push_back(normal(random));
    scores.with.push_back(mu + normal(random));
  }
  return scores;
}

// Fails by chance with probability 1e-6, and the seeds are fixed.
TEST(AttackEvidence, StaysBelowTheTruthAndComesClose) {
  for (const double mu : {0.27, 1.0, 3.0}) {
    const double threshold = best_threshold(normal_scores(mu, 20000, 1), 1e-6).threshold;
    const AttackEvidence found = evidence(normal_scores(mu, 20000, 2), threshold, 1e-6);
    EXPECT_LT(found.mu, mu);
    EXPECT_GT(found.mu, mu - 0.15);
  }
}

// With little confidence asked for, bounds are wrong as often as they say and no more: of 400, 40
// at 10 % (the bound is exact for one side and sums over two), 75 with probability below 1e-7.
TEST(AttackEvidence, IsWrongNoMoreOftenThanAlpha) {
  int wrong = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    wrong += evidence(normal_scores(0.5, 300, seed), 0.25, 0.1).mu > 0.5 ? 1 : 0;
  }
  EXPECT_LT(wrong, 75);
}

TEST(AttackEvidence, CountsScoresAtTheThresholdAsWithout) {
  const AttackEvidence found = evidence({{0, 1, 2}, {1, 2, 3, 4}}, 1, 0.1);
  EXPECT_EQ(found.false_alarms, 1U);
  EXPECT_EQ(found.misses, 1U);
  EXPECT_EQ(found.runs_without, 3U);
  EXPECT_EQ(found.runs_with, 4U);
}

TEST(AttackEvidence, TellsTwoConstantsApart) {
  AttackScores scores;
  scores.without.assign(1000, -2.0);
  scores.with.assign(1000, 0.0);
  EXPECT_GT(best_threshold(scores, 1e-6).mu, 4.0);
  scores.with.assign(1000, -2.0);
  EXPECT_EQ(best_threshold(scores, 1e-6).mu, 0.0);
}

// scipy.stats.binom: cdf(45, 100, .5), sf(1059, 2000, .5), cdf(0, 10, .3), ppf.
TEST(Binomial, HasTheTabulatedTails) {
  EXPECT_NEAR(binomial_cdf(45, 100, 0.5), 0.18410080866334816, 1e-12);
  EXPECT_NEAR(binomial_tail(1060, 2000, 0.5), 0.0038885594509893715, 1e-12);
  EXPECT_NEAR(binomial_cdf(0, 10, 0.3), 0.0282475249, 1e-12);
  EXPECT_EQ(binomial_cdf(10, 10, 0.3), 1.0);
  EXPECT_EQ(binomial_tail(0, 10, 0.3), 1.0);
  EXPECT_EQ(binomial_quantile(0.95, 100, 0.5), 58U);
  EXPECT_EQ(binomial_quantile(0.95, 1000, 0.0), 0U);
}

// The claim is Gaussian, so a p-value at alpha says what the bound on mu says.
TEST(PValue, AgreesWithTheBoundOnMu) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const double alpha = 0.05;
    const AttackEvidence found = evidence(normal_scores(1.0, 500, seed), 0.5, alpha);
    for (const double factor : {0.9, 0.97, 1.03, 1.1}) {
      const bool refuted = p_value(found, TradeOff::gaussian(found.mu * factor)) <= alpha;
      EXPECT_EQ(refuted, factor < 1.0) << seed << " " << factor;
    }
  }
}

// At 10 %, more than 64 of 400 have a probability below 1e-4.
TEST(PValue, RefutesATrueClaimNoMoreOftenThanAlpha) {
  for (const double mu : {0.27, 0.72, 1.7}) {  // epsilon 1, 3, 8 at delta 1e-5
    const TradeOff claim = TradeOff::gaussian(mu);
    int wrong = 0;
    for (unsigned seed = 0; seed < 400; ++seed) {
      const AttackEvidence found = evidence(normal_scores(mu, 300, seed), mu / 2, 0.1);
      wrong += p_value(found, claim) <= 0.1 ? 1 : 0;
    }
    EXPECT_LE(wrong, 64) << mu;
  }
}

// The power that is asked for, 0.9, against half the noise: fewer than 80 of 100 with probability
// 1e-3. Thresholds are the perfect attack's, not those of half the runs.
TEST(RunsNeeded, AreEnoughToCatchHalfTheNoise) {
  for (const double mu : {0.27, 0.72, 1.7}) {
    const TradeOff claim = TradeOff::gaussian(mu);
    const auto runs = runs_needed(claim, TradeOff::gaussian(2 * mu), 1e-3, 0.9);
    ASSERT_TRUE(runs);
    double threshold = 0.0, best = 0.0;
    for (double t = -1; t < 5; t += 0.1) {  // where the two curves are farthest apart
      const double apart = claim.least_miss(normal_cdf(-t)) - normal_cdf(t - 2 * mu);
      const double noise = std::sqrt(normal_cdf(t - 2 * mu) + normal_cdf(-t));
      if (apart / noise > best) best = apart / noise, threshold = t;
    }
    int caught = 0;
    for (unsigned seed = 0; seed < 100; ++seed) {
      const AttackEvidence found = evidence(normal_scores(2 * mu, *runs, seed), threshold, 1e-3);
      caught += p_value(found, claim) <= 1e-3 ? 1 : 0;
    }
    EXPECT_GE(caught, 80) << mu;
  }
}

TEST(RunsNeeded, AreNoneWhereTheTruthKeepsTheClaim) {
  EXPECT_FALSE(runs_needed(TradeOff::gaussian(1.0), TradeOff::gaussian(0.9), 1e-3, 0.9));
}

// Half of the runs that are too few: 500 false alarms of 500 say nothing, and neither do 0 of 3.
TEST(PValue, IsOneForAnAttackThatSaysNothing) {
  const TradeOff claim = TradeOff::gaussian(0.27);
  EXPECT_EQ(p_value({.false_alarms = 500, .runs_without = 500, .runs_with = 500}, claim), 1.0);
  EXPECT_GT(p_value({.runs_without = 3, .runs_with = 3}, claim), 0.01);
}

}  // namespace
}  // namespace lazydp
