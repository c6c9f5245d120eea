#include "lazydp/privacy/attack_evidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

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

}  // namespace
}  // namespace lazydp
