// Balls in bins: the sampled accountant against quadrature, closed forms, dense matrices and plain
// Monte Carlo.

#include "lazydp/privacy/bins/balls_in_bins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/binomial.h"
#include "lazydp/privacy/bins/bin_mixture.h"
#include "lazydp/privacy/bins/bins_divergence.h"
#include "lazydp/privacy/bins/confident_mean.h"
#include "lazydp/privacy/bins/tilted_bins.h"
#include "lazydp/privacy/calibration.h"

namespace lazydp {
namespace {

CorrelatedGaussian block_of(std::vector<double> bands, std::uint64_t separation,
                            std::uint64_t passes, double sigma) {
  return {.bands = std::move(bands),
          .noise_multiplier = sigma,
          .allowed = {separation * passes, separation, passes},
          .sampling = BlockSampling::balls_in_bins,
          .steps = separation * passes};
}

// Returns m_i for every bin, from the dense inverse of the matrix of bands.
std::vector<std::vector<double>> dense_means(const CorrelatedGaussian& block) {
  const std::size_t steps = block.allowed.steps;
  std::vector<std::vector<double>> means(block.allowed.separation, std::vector<double>(steps, 0.0));
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<double> column(steps, 0.0);  // of M, by forward substitution
    for (std::size_t t = step; t < steps; ++t) {
      column[t] = t == step ? 1.0 : 0.0;
      for (std::size_t j = 1; j < block.bands.size() && j <= t; ++j) {
        column[t] -= block.bands[j] * column[t - j];
      }
      means[step % block.allowed.separation][t] += column[t];
    }
  }
  return means;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

TEST(BallsInBins, TheGramMatrixIsThatOfTheDenseMatrix) {
  for (const CorrelatedGaussian& block :
       {block_of(lambda_bands(0.8), 7, 3, 1.0), block_of(bisr_bands(5), 4, 1, 1.0),
        block_of(independent_bands(), 3, 2, 1.0)}) {
    const BinMixture mixture(block, 1, block.allowed.separation);
    const auto means = dense_means(block);
    for (std::size_t i = 0; i < means.size(); ++i) {
      for (std::size_t j = 0; j < means.size(); ++j) {
        EXPECT_NEAR(mixture.row(i)[j], dot(means[i], means[j]), 1e-12);
      }
    }
  }
}

// y = (<z, m_i>)_i for the very z that is given.
TEST(BallsInBins, TheViewIsTheProductWithTheDenseMatrix) {
  const CorrelatedGaussian block = block_of(bisr_bands(5), 6, 3, 1.0);
  const BinMixture mixture(block, 1, 6);
  const auto means = dense_means(block);
  std::mt19937_64 random(3);  // NOLINT: the same numbers every time
  std::normal_distribution<double> normal;
  std::vector<double> z(18);
  for (double& x : z) x = normal(random);
  const std::vector<double> kept = z;
  std::vector<double> y(6);
  mixture.view(z, y);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(y[i], dot(kept, means[i]), 1e-12);
}

// With two bins the divergences are integrals over a plane.
struct Plane {
  double with, without;  // E_Q[(W - e)+] and E_Q[(1 - e W)+]
};

Plane by_quadrature(const CorrelatedGaussian& block, double epsilon) {
  const auto means = dense_means(block);
  const double s = block.noise_multiplier;
  const double a = dot(means[0], means[0]) / (s * s);
  const double b = dot(means[0], means[1]) / (s * s);
  const double c = dot(means[1], means[1]) / (s * s);
  const double l = std::sqrt(a), m = b / l, n = std::sqrt(c - m * m);  // Cholesky
  constexpr double kReach = 14, kStep = 0.005;
  const double e = std::exp(epsilon);
  Plane sums{0, 0};
  for (double u = -kReach; u <= kReach; u += kStep) {
    for (double v = -kReach; v <= kReach; v += kStep) {
      const double density = std::exp(-(u * u + v * v) / 2) / (2 * std::numbers::pi);
      if (density < 1e-40) continue;
      const double w = (std::exp(l * u - a / 2) + std::exp(m * u + n * v - c / 2)) / 2;
      sums.with += density * std::max(0.0, w - e) * kStep * kStep;
      sums.without += density * std::max(0.0, 1 - e * w) * kStep * kStep;
    }
  }
  return sums;
}

TEST(BallsInBins, TwoBinsCostWhatQuadratureSays) {
  for (const double epsilon : {0.5, 2.0}) {
    const CorrelatedGaussian block = block_of(lambda_bands(0.7), 2, 3, 4.0);
    const Plane exact = by_quadrature(block, epsilon);
    const double proven = balls_in_bins_delta(block, epsilon);
    EXPECT_GE(proven, std::max(exact.with, exact.without));
    EXPECT_LE(proven, 1.05 * std::max(exact.with, exact.without)) << epsilon;
    const BinMixture mixture(block, 1, 2);
    const double without = BinsDivergence(mixture, 4.0).without_from_with(epsilon);
    EXPECT_GE(without, exact.without * (1 - 1e-6));
    EXPECT_LE(without, 2 * exact.without);
  }
}

TEST(BallsInBins, OneBinIsAGaussianMechanism) {
  const CorrelatedGaussian block = block_of(lambda_bands(0.9), 1, 3, 10.0);
  const double mu = sensitivity(block.bands, block.allowed) / 10.0;
  const double proven = balls_in_bins_epsilon(block, 1e-6, Effort::proof);
  EXPECT_GE(proven, gaussian_epsilon(mu, 1e-6));
  EXPECT_LE(proven, 1.02 * gaussian_epsilon(mu, 1e-6));
  const BinMixture mixture(block, 1, 1);
  for (const double epsilon : {0.1, 1.0, 3.0}) {
    EXPECT_NEAR(BinsDivergence(mixture, 10.0).without_from_with(epsilon),
                gaussian_delta(mu, epsilon), 1e-12);
  }
}

// Draws from P and counts, with nothing of the accountant's: dense means, the definition of W.
TEST(BallsInBins, ManyBinsCostWhatPlainMonteCarloSays) {
  for (const double epsilon : {0.3, 1.0}) {
    const CorrelatedGaussian block = block_of(lambda_bands(0.8), 30, 2, 2.2);
    const auto means = dense_means(block);
    const double precision = 1 / (2.2 * 2.2);
    std::mt19937_64 random(5);  // NOLINT: the same numbers every time
    std::normal_distribution<double> normal;
    std::uniform_int_distribution<std::size_t> bin(0, 29);
    constexpr int kDraws = 40000;
    double sum = 0.0, squares = 0.0;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<double> x = means[bin(random)];
      for (double& at : x) at += 2.2 * normal(random);
      double w = 0.0;
      for (const auto& m : means) w += std::exp(precision * (dot(x, m) - dot(m, m) / 2)) / 30;
      const double value = std::max(0.0, 1 - std::exp(epsilon) / w);
      sum += value;
      squares += value * value;
    }
    const double mean = sum / kDraws;
    const double error = std::sqrt((squares / kDraws - mean * mean) / kDraws);
    const double proven = balls_in_bins_delta(block, epsilon);
    EXPECT_GE(proven, mean - 4 * error);  // false alarm: 3e-5
    // The other direction is bounded without draws, and less closely.
    const double other = BinsDivergence(BinMixture(block, 1, 30), 2.2).without_from_with(epsilon);
    EXPECT_LE(proven, std::max(1.03 * mean + 4 * error, other * (1 + 1e-9)));
  }
}

// Whatever the law that draws come from, they have the same mean: one weight that is wrong shows.
TEST(BallsInBins, EveryProposalHasTheSameMean) {
  const CorrelatedGaussian block = block_of(lambda_bands(0.8), 40, 2, 2.2);
  const BinMixture mixture(block, 1, 40);
  constexpr double kEpsilon = 1.0;
  constexpr int kDraws = 60000;
  std::vector<double> means, errors;
  for (const auto& [stretch, power] :
       {std::pair(1.0, 1), std::pair(1.5, 1), std::pair(2.0, 1), std::pair(1.0, 2),
        std::pair(1.25, 2), std::pair(1.0, 3), std::pair(1.25, 3)}) {
    const TiltedBins proposal(mixture, 2.2, stretch, power);
    PublicRandom random(11);
    TiltedBins::Workspace workspace;
    const double most = std::exp(proposal.log_most(kEpsilon));
    double sum = 0.0, squares = 0.0;
    for (int draw = 0; draw < kDraws; ++draw) {
      const auto [log_ratio, log_weight] = proposal.draw(random, workspace);
      const double value =
          std::exp(log_weight) * std::max(0.0, std::exp(log_ratio) - std::exp(kEpsilon));
      EXPECT_LE(value, most * (1 + 1e-9));
      sum += value;
      squares += value * value;
    }
    means.push_back(sum / kDraws);
    errors.push_back(std::sqrt((squares / kDraws - means.back() * means.back()) / kDraws));
  }
  for (std::size_t i = 1; i < means.size(); ++i) {  // false alarms: 4e-4 in all
    EXPECT_NEAR(means[i], means[0], 4 * std::hypot(errors[i], errors[0])) << i;
  }
}

// The bound fails as rarely as it says, also for a variable that is hardly ever above 0.
TEST(BallsInBins, TheConfidentMeanCovers) {
  PublicRandom random(17);
  constexpr int kRounds = 2000, kDraws = 2000;
  constexpr double kAlpha = 0.1, kHit = 0.002;
  int below = 0;
  double total = 0.0;
  for (int round = 0; round < kRounds; ++round) {
    ConfidentMean mean(0.6);
    for (int draw = 0; draw < kDraws; ++draw) mean.add(random.uniform() < kHit ? 1.0 : 0.0);
    below += mean.upper_bound(kAlpha) < kHit ? 1 : 0;
    total += mean.upper_bound(kAlpha) / kRounds;
  }
  EXPECT_LE(below, kRounds * kAlpha);
  EXPECT_GT(below, 0);  // and is no bound that holds always
  EXPECT_LT(total, 3 * kHit);
}

TEST(BallsInBins, ThinnedMixturesAreEasierToTellApart) {
  const CorrelatedGaussian block = block_of(lambda_bands(0.8), 50, 2, 2.2);
  const auto mean_at_one = [](const BinMixture& mixture) {
    BinsDivergence divergence(mixture, 2.2);
    divergence.aim_at(1.0);
    divergence.draw(40000, 9);
    double sum = 0.0;
    for (const double y : divergence.values(1.0)) sum += y / 40000;
    return sum;
  };
  const double whole = mean_at_one(BinMixture(block, 1, 50));
  EXPECT_GT(mean_at_one(BinMixture(block, 3, 16)), whole);
  EXPECT_GT(mean_at_one(BinMixture(block, 3, 17)), whole);
}

TEST(BallsInBins, CostsLessThanWithKnownBinsAndPrefixesNoMore) {
  const CorrelatedGaussian block = block_of(lambda_bands(0.8), 60, 1, 2.0);
  Ledger ledger;
  ledger.record(PrivacyEvent(block));
  const double all = epsilon(ledger, 1e-6, Accountant::pld);
  const double mu = sensitivity(block.bands, block.allowed) / 2.0;
  EXPECT_LT(all, 0.8 * gaussian_epsilon(mu, 1e-6));
  EXPECT_NEAR(epsilon(ledger, 1e-6, Accountant::rdp), gaussian_epsilon(mu, 1e-6),
              0.1 * gaussian_epsilon(mu, 1e-6));
  Ledger prefix;
  CorrelatedGaussian first = block;
  first.steps = 20;
  prefix.record(PrivacyEvent(first));
  EXPECT_LE(epsilon(prefix, 1e-6, Accountant::pld), all);
  EXPECT_EQ(epsilon(ledger, 1e-6, Accountant::pld), all);  // the same whenever it is asked for
}

TEST(BallsInBins, BlocksAddUpAtSharesOfDelta) {
  CorrelatedGaussian block = block_of(lambda_bands(0.5), 30, 1, 2.0);
  const double one = balls_in_bins_epsilon(block, 0.5e-6, Effort::proof, 2);
  Ledger ledger;
  ledger.record(PrivacyEvent(block));
  block.after_step = 30;
  ledger.record(PrivacyEvent(block));
  EXPECT_NEAR(epsilon(ledger, 1e-6, Accountant::pld), 2 * one, 1e-9);
  // With other events, too; where they cost more than known bins would, these count.
  Ledger with_rest;
  with_rest.record(Gaussian{50.0, 1});
  with_rest.append(ledger);
  EXPECT_GT(epsilon(with_rest, 1e-6, Accountant::pld), 2 * one);
  const double mu = sensitivity(block.bands, block.allowed) / 2.0;
  EXPECT_LE(epsilon(with_rest, 1e-6, Accountant::pld),
            gaussian_epsilon(std::sqrt(2 * mu * mu + 1 / 2500.0), 1e-6) * (1 + 1e-9));
}

TEST(SlowBallsInBins, CalibratedNoiseIsProvenToBeEnough) {
  for (const double budget : {1.0, 3.0, 8.0}) {
    const auto ledger = [](double sigma) {
      Ledger result;
      result.record(PrivacyEvent(block_of(lambda_bands(0.9), 100, 2, sigma)));
      return result;
    };
    const double sigma = noise_for_budget({budget, 1e-6}, ledger, Accountant::pld);
    const double cost = epsilon(ledger(sigma), 1e-6, Accountant::pld);
    EXPECT_LE(cost, budget);
    EXPECT_GE(cost, 0.97 * budget);
    EXPECT_GT(epsilon(ledger(0.97 * sigma), 1e-6, Accountant::pld), budget);
  }
}

}  // namespace
}  // namespace lazydp
