// Evidence from one run: never more than alpha false alarms, and planted errors are found. Seeds
// are fixed.

#include "lazydp/privacy/one_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "lazydp/privacy/binomial.h"

namespace lazydp {
namespace {

double mu_of(double epsilon) {
  double low = 0, high = 20;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (gaussian_epsilon(middle, 1e-5) > epsilon ? high : low) = middle;
  }
  return low;
}

struct Tossed {
  std::vector<double> scores;
  std::vector<bool> in;
};

// Canaries in a Gaussian mechanism, each seen by itself; with `leaks`, untouched ones show.
Tossed gaussian_run(double mu, std::uint64_t canaries, bool leaks, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Tossed run;
  for (std::uint64_t i = 0; i < canaries; ++i) {
    run.in.push_back(random() % 2 == 1);
    const double score = (run.in.back() ? mu : 0.0) + normal(random);
    run.scores.push_back(leaks && !run.in.back() ? -1e9 : score);
  }
  return run;
}

int caught(double claimed, double real, bool leaks, std::uint64_t canaries, double alpha,
           int runs) {
  const TradeOff claim = TradeOff::gaussian(claimed);
  const OneRunPlan plan = plan_one_run(canaries, claim, TradeOff::gaussian(2 * claimed), alpha);
  std::mt19937_64 random(7);
  int count = 0;
  for (int i = 0; i < runs; ++i) {
    const Tossed run = gaussian_run(real, canaries, leaks, random);
    count += one_run_p_value(guess(run.scores, run.in, plan.guesses), claim) <= alpha ? 1 : 0;
  }
  return count;
}

// At 5 % at most, 10 false alarms are expected of 200 runs, and more than 25 have a probability of
// 1e-5. Canaries of this mechanism do not conspire, and there are none at all.
TEST(OneRun, LetsATrueGaussianMechanismStand) {
  for (const double epsilon : {1.0, 3.0, 8.0}) {
    const double mu = mu_of(epsilon);
    EXPECT_LE(caught(mu, mu, false, 2000, 0.05, 200), 25) << epsilon;
  }
}

// A mechanism that is (epsilon, delta)-private and gives everything away with probability delta:
// where canaries conspire, false alarms do happen, and are still no more than alpha.
TEST(OneRun, LetsAMechanismStandThatLeaksAllWithProbabilityDelta) {
  const double epsilon = 1.0, delta = 0.02, alpha = 0.05;
  const TradeOff claim(std::vector<TradeOff::Point>{{epsilon, delta}});
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform;
  int alarms = 0;
  for (int i = 0; i < 1000; ++i) {
    const double right = uniform(random) < delta ? 1.0 : 1 / (1 + std::exp(-epsilon));
    Tossed run;
    for (int j = 0; j < 400; ++j) {
      run.in.push_back(random() % 2 == 1);
      const bool told = (uniform(random) < right) == run.in.back();
      run.scores.push_back(told ? 1 : 0);
    }
    alarms += one_run_p_value(guess(run.scores, run.in, 200), claim) <= alpha ? 1 : 0;
  }
  EXPECT_LE(alarms, 83);  // more at 5 % of 1000: probability 1e-5
}

// The power that is stated, 0.9, is reached: fewer than 80 of 100 have a probability of 1e-3.
TEST(OneRun, CatchesHalvedNoiseWithThePowerItStates) {
  for (const double epsilon : {1.0, 3.0, 8.0}) {
    const double mu = mu_of(epsilon);
    const auto canaries =
        canaries_needed(TradeOff::gaussian(mu), TradeOff::gaussian(2 * mu), 0.01, 0.9);
    ASSERT_TRUE(canaries);
    EXPECT_LT(*canaries, 10'000U);
    EXPECT_GE(caught(mu, 2 * mu, false, *canaries, 0.01, 100), 80) << epsilon;
  }
}

TEST(OneRun, CatchesRowsThatShowWhoWasNotThere) {
  for (const double epsilon : {1.0, 3.0, 8.0}) {
    EXPECT_EQ(caught(mu_of(epsilon), mu_of(epsilon), true, 8000, 0.01, 20), 20) << epsilon;
  }
}

TEST(OneRun, OfOneCanaryIsTheBestSingleGuess) {
  for (const double mu : {0.3, 1.0, 2.5}) {
    EXPECT_NEAR(one_run_p_value({1, 1, 1}, TradeOff::gaussian(mu)), normal_cdf(mu / 2), 2e-3);
  }
}

// Randomised response keeps pure epsilon, and its correct guesses are binomial: no p-value may be
// below that tail.
TEST(OneRun, IsNeverBelowWhatRandomisedResponseAchieves) {
  const double epsilon = 1.3, right = 1 / (1 + std::exp(-epsilon));
  const TradeOff claim(std::vector<TradeOff::Point>{{epsilon, 0}});
  const std::uint64_t m = 40;
  double tail = 0;
  for (std::uint64_t c = m + 1; c-- > 0;) {
    const auto n = static_cast<double>(m), k = static_cast<double>(c);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                     k * std::log(right) + (n - k) * std::log1p(-right));
    if (tail > 1e-11) {
      EXPECT_GE(one_run_p_value({m, m, c}, claim), tail * (1 - 1e-9)) << c;
    }
  }
}

// From the formula with scipy.stats.binom.
TEST(OneRun, HasThePlainBoundOfSteinkeNasrAndJagielski) {
  EXPECT_NEAR(one_run_epsilon({1000, 600, 600}, 1e-5, 0.05), 5.270399463514697, 1e-6);
  EXPECT_NEAR(one_run_epsilon({1000, 1000, 700}, 1e-5, 0.05), 0.7317404494186919, 1e-6);
  EXPECT_NEAR(one_run_epsilon({5000, 500, 480}, 1e-6, 0.01), 2.6571496289186194, 1e-6);
  EXPECT_EQ(one_run_epsilon({100, 100, 55}, 1e-5, 0.05), 0.0);
}

TEST(OneRun, PlansNothingForAClaimThatNoNumberOfCanariesCouldRefute) {
  // A claim with a delta of 5 % allows everything to leak that often.
  const TradeOff claim(std::vector<TradeOff::Point>{{1.0, 0.05}});
  EXPECT_FALSE(canaries_needed(claim, TradeOff::gaussian(10.0), 0.01, 0.9));
  EXPECT_EQ(plan_one_run(1000, claim, TradeOff::gaussian(10.0), 0.01).power, 0.0);
}

TEST(OneRun, GuessesInAboveAndOutBelow) {
  const OneRunGuesses made =
      guess(std::vector<double>{5, 1, 4, 2, 3}, {true, false, false, true, true}, 4);
  EXPECT_EQ(made.canaries, 5U);
  EXPECT_EQ(made.guesses, 4U);
  EXPECT_EQ(made.correct, 2U);  // 5 is in, 4 is not; 1 is out, 2 is not
}

}  // namespace
}  // namespace lazydp
