// The privacy of the best of a random number of trials, against the exact law of the maximum of a
// small discrete mechanism, closed forms, and direct sums.

#include "lazydp/privacy/private_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lazydp/base/error.h"
#include "lazydp/privacy/rdp.h"

namespace lazydp {
namespace {

// The probabilities of 1, 2, ... trials by the paper's own products (Definition 1), summed to 1
// rather than normalised by a formula.
std::vector<double> by_definition(const TrialsLaw& law, std::size_t most) {
  std::vector<double> p(most + 1, 0.0);
  for (std::size_t k = 1; k <= most; ++k) {
    const auto n = static_cast<double>(k);
    double log_product = law.eta == 0 ? -std::log(n) : 0.0;
    if (law.eta != 0) {
      log_product = std::lgamma(n + law.eta) - std::lgamma(1 + law.eta) - std::lgamma(n + 1);
    }
    p[k] = std::exp(n * std::log1p(-law.gamma) + log_product);
  }
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= sum;
  return p;
}

constexpr TrialsLaw kLaws[] = {{0, 0.05}, {1, 0.1}, {0.5, 0.02}, {-0.5, 0.01}, {1, 0.9}, {0, 0.9}};

TEST(TrialsLaw, HasTheProbabilitiesAndTheMeanOfItsDefinition) {
  for (const TrialsLaw& law : kLaws) {
    const std::vector<double> p = by_definition(law, 6000);
    double mean = 0;
    for (std::size_t k = 1; k < p.size(); ++k) mean += static_cast<double>(k) * p[k];
    EXPECT_NEAR(mean_trials(law) / mean, 1, 1e-9) << law.eta << " " << law.gamma;
    for (const std::size_t k : {1, 2, 3, 10, 50}) {
      EXPECT_NEAR(probability_of_trials(law, k), p[k], 1e-12) << law.eta << " " << k;
    }
  }
  EXPECT_EQ(probability_of_trials(kLaws[0], 0), 0);
}

TEST(TrialsLaw, HasTheMeanThatWasAskedFor) {
  for (const double eta : {-0.5, -0.25, 0.0, 1e-9, 0.5, 1.0}) {
    for (const double mean : {1.001, 2.0, 10.0, 1000.0}) {
      EXPECT_NEAR(mean_trials(trials_with_mean(mean, eta)) / mean, 1, 1e-7) << eta << " " << mean;
    }
  }
  EXPECT_NEAR(trials_with_mean(10, 1).gamma, 0.1, 1e-12) << "geometric";
  for (const double mean : {1.0, 0.0, -3.0, 1001.0, std::nan("")}) {
    EXPECT_THROW(trials_with_mean(mean, 0), UserError) << mean;
  }
  for (const double eta : {-0.51, 1.01, std::nan("")}) {
    EXPECT_THROW(trials_with_mean(10, eta), UserError) << eta;
  }
  EXPECT_THROW(trials_at({0, 0}, 0.5), UserError);
  EXPECT_THROW(trials_at({0, 1}, 0.5), UserError);
}

// Cuts (0, 1) where the cumulative probability is: each number has just its share.
TEST(TrialsLaw, IsDrawnByInversion) {
  for (const TrialsLaw& law : kLaws) {
    const std::vector<double> p = by_definition(law, 6000);
    double below = 0;
    for (std::uint64_t k = 1; k <= 40 && below + p[k] < 1 - 1e-6; ++k) {
      EXPECT_EQ(trials_at(law, below + 1e-9 * p[k]), k) << law.eta << " " << law.gamma;
      EXPECT_EQ(trials_at(law, below + p[k] * (1 - 1e-9)), k) << law.eta << " " << law.gamma;
      below += p[k];
    }
    EXPECT_GE(trials_at(law, 1 - 0x1p-53), 1u) << "ends";
  }
}

using Law = std::vector<double>;  // probabilities of the ordered outputs 0, 1, ...

// Returns the exact law of the best of K draws: P(best <= y) = E F(y)^K, by a sum over K.
Law best_of(const Law& base, const std::vector<double>& trials) {
  Law best;
  double cumulative = 0;
  double before = 0;
  for (const double p : base) {
    cumulative += p;
    double at_most = 0;
    double power = 1;
    for (std::size_t k = 1; k < trials.size(); ++k) {
      power *= std::min(cumulative, 1.0);
      at_most += trials[k] * power;
    }
    best.push_back(at_most - before);
    before = at_most;
  }
  return best;
}

double divergence(const Law& p, const Law& q, double order) {
  double largest = -1e300;
  std::vector<double> logs;
  for (std::size_t y = 0; y < p.size(); ++y) {
    logs.push_back(order * std::log(p[y]) + (1 - order) * std::log(q[y]));
    largest = std::max(largest, logs.back());
  }
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - largest);
  return (largest + std::log(sum)) / (order - 1);
}

double either_way(const Law& p, const Law& q, double order) {
  return std::max(divergence(p, q, order), divergence(q, p, order));
}

std::vector<double> curve_of(const Law& p, const Law& q) {
  std::vector<double> curve;
  for (const double order : rdp_orders()) curve.push_back(either_way(p, q, order));
  return curve;
}

// Two neighbours' outputs: the best output is `rare` likely under one, and e^loss times under the
// other, which is as much as pure differential privacy allows.
std::pair<Law, Law> rare_success(double rare, double loss) {
  const double more = rare * std::exp(loss);
  return {{1 - rare, rare}, {1 - more, more}};
}

TEST(BestOfTrials, IsNeverBelowTheExactDivergenceOfADiscreteMechanism) {
  std::vector<std::pair<Law, Law>> pairs;
  for (const double rare : {1e-4, 0.01, 0.1, 0.3}) {
    for (const double loss : {0.05, 0.5, 1.0}) pairs.push_back(rare_success(rare, loss));
  }
  pairs.push_back({{0.1, 0.2, 0.3, 0.25, 0.15}, {0.2, 0.25, 0.25, 0.2, 0.1}});
  pairs.push_back({{0.5, 0.3, 0.15, 0.04, 0.01}, {0.45, 0.3, 0.16, 0.06, 0.03}});
  for (const TrialsLaw& law : kLaws) {
    const std::vector<double> trials = by_definition(law, 6000);
    for (const auto& [p, q] : pairs) {
      const std::vector<double> bound = rdp_of_best(curve_of(p, q), law);
      const std::vector<double> truth = curve_of(best_of(p, trials), best_of(q, trials));
      for (std::size_t i = 0; i < truth.size(); ++i) {
        EXPECT_GE(bound[i] + 1e-9, truth[i])
            << law.eta << " " << law.gamma << " " << rdp_orders()[i];
      }
    }
  }
}

// The worst of pure differential privacy: an output is e^loss as likely under one neighbour, and
// what is better than it e^loss as likely under the other. The best of K then has nearly (2 + eta)
// times the loss, which is what the theorem says at high orders.
TEST(BestOfTrials, IsCloseToTheTruthWhereTheTheoremIsTight) {
  const double loss = 0.2;
  const double here = 1e-5;
  const double better = 0.1;  // far above gamma, far below 1
  const Law p = {1 - better - here, here, better};
  const Law q = {1 - better * std::exp(loss) - here * std::exp(-loss), here * std::exp(-loss),
                 better * std::exp(loss)};
  for (const TrialsLaw& law : {TrialsLaw{0, 1e-3}, TrialsLaw{1, 1e-3}, TrialsLaw{0.5, 1e-3}}) {
    const std::vector<double> trials = by_definition(law, 40000);
    const double truth = either_way(best_of(p, trials), best_of(q, trials), rdp_orders().back());
    const double bound = rdp_of_best(curve_of(p, q), law).back();
    EXPECT_LE(truth, bound);
    EXPECT_GE(truth, 0.95 * bound);
    EXPECT_NEAR(bound, (2 + law.eta) * loss, 0.01);
  }
}

// For a rho-zCDP mechanism the best b is sqrt(log(1/gamma) / rho), and the sum has a closed form;
// Google's dp-accounting library states and tests the same.
TEST(BestOfTrials, HasTheClosedFormOfAGaussian) {
  for (const double rho : {0.001, 0.02, 0.3}) {
    for (const double eta : {0.0, 0.5, 1.0}) {
      const TrialsLaw law = trials_with_mean(10, eta);
      std::vector<double> base;
      for (const double order : rdp_orders()) base.push_back(rho * order);
      const std::vector<double> bound = rdp_of_best(base, law);
      for (std::size_t i = 0; i < bound.size(); ++i) {
        const double order = rdp_orders()[i];
        const double exact = rho * (order - 1) + std::log(10.0) / (order - 1) +
                             2 * (1 + eta) * std::sqrt(-rho * std::log(law.gamma)) - eta * rho;
        EXPECT_GE(bound[i], exact * (1 - 1e-9));
        EXPECT_LE(bound[i], exact * 1.003);
      }
    }
  }
}

TEST(PrivateSearch, PaysForTrainingAndForTheScore) {
  Ledger ledger;
  ledger.record({0.01, 1.0, 1000});
  PrivateSearch search{.trials = trials_with_mean(10, 0),
                       .candidates = 6,
                       .training = rdp_curve(ledger),
                       .score_noise = 2.0};
  const std::vector<double> trial = rdp_of_trial(search);
  for (std::size_t i = 0; i < trial.size(); ++i) {
    EXPECT_DOUBLE_EQ(trial[i], search.training[i] + rdp_orders()[i] / (2 * 2.0 * 2.0));
  }
  const double alone = rdp_epsilon(ledger, 1e-6);
  const double total = search_epsilon(search, 1e-6);
  EXPECT_GT(total, 1.2 * alone);
  search.score_noise = 1e9;
  EXPECT_LT(search_epsilon(search, 1e-6), total);
  EXPECT_GT(search_epsilon(search, 1e-6), alone);
  search.score_noise = 0;
  EXPECT_TRUE(std::isinf(search_epsilon(search, 1e-6)));
}

TEST(PrivateSearch, TakesTheCostliestCandidateAtEachOrder) {
  Ledger few;
  few.record({1, 8.0, 1});
  Ledger many;
  many.record({0.05, 1.0, 200});
  const std::vector<double> one = rdp_curve(few);
  const std::vector<double> other = rdp_curve(many);
  std::vector<double> most;
  raise_to(one, most);
  EXPECT_EQ(most, one);
  raise_to(other, most);
  for (std::size_t i = 0; i < most.size(); ++i) EXPECT_EQ(most[i], std::max(one[i], other[i]));
}

TEST(RdpCurve, OfNothingIsZeroAndWithoutNoiseInfinite) {
  EXPECT_EQ(rdp_curve({}), std::vector<double>(rdp_orders().size(), 0.0));
  Ledger bare;
  bare.record({0.1, 0, 1});
  EXPECT_TRUE(std::isinf(rdp_curve(bare).front()));
  EXPECT_TRUE(std::isinf(rdp_epsilon(rdp_curve(bare), 1e-6)));
}

}  // namespace
}  // namespace lazydp
