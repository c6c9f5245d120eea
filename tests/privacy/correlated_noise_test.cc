// Correlated noise: sensitivities and accumulated noise against dense matrices and reference
// values.

#include "lazydp/privacy/correlated_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

using Matrix = std::vector<std::vector<double>>;

// Returns M by inverting the lower-triangular matrix that has `bands`: row by row, from the
// definition of an inverse.
Matrix dense_matrix(const std::vector<double>& bands, std::size_t steps) {
  const auto inverse = [&](std::size_t i, std::size_t j) {
    return i >= j && i - j < bands.size() ? bands[i - j] : 0.0;
  };
  Matrix m(steps, std::vector<double>(steps, 0.0));
  for (std::size_t column = 0; column < steps; ++column) {
    for (std::size_t i = 0; i < steps; ++i) {
      double rest = i == column ? 1.0 : 0.0;
      for (std::size_t j = 0; j < i; ++j) rest -= inverse(i, j) * m[j][column];
      m[i][column] = rest / inverse(i, i);
    }
  }
  return m;
}

// Returns the largest norm of a sum of columns over *every* set of at most `times` steps that are
// at least `separation` apart.
double largest_norm(const Matrix& m, const Participation& who, std::size_t first,
                    const std::vector<double>& sum, std::uint64_t taken) {
  double most = 0.0;
  for (const double x : sum) most += x * x;
  most = std::sqrt(most);
  if (taken == who.times) return most;
  for (std::size_t step = first; step < m.size(); ++step) {
    std::vector<double> next = sum;
    for (std::size_t i = 0; i < m.size(); ++i) next[i] += m[i][step];
    most = std::max(most, largest_norm(m, who, step + who.separation, next, taken + 1));
  }
  return most;
}

TEST(CorrelatedNoise, IsAsIndependentlyComputed) {
  struct Reference {
    Participation who;
    std::vector<double> sensitivity, noise;  // of independent, lambda .5, .9, bisr 4, 16, 64
  };
  const std::vector<Reference> references = {{{200, 200, 1},
                                              {1, 1.1547, 2.2942, 1.2737, 1.4532, 1.6000},
                                              {10.025, 5.874, 3.240, 4.207, 2.794, 2.542}},
                                             {{2000, 2000, 1},
                                              {1, 1.1547, 2.2942, 1.2737, 1.4532, 1.6014},
                                              {31.631, 18.289, 7.607, 12.661, 6.891, 4.266}},
                                             {{200, 50, 4},
                                              {2, 2.3094, 4.6061, 2.5475, 2.9897, 3.8735},
                                              {20.050, 11.747, 6.506, 8.415, 5.749, 6.155}},
                                             {{480, 24, 20},
                                              {4.4721, 5.1640, 11.0671, 5.7042, 7.6985, 12.4682},
                                              {69.354, 40.291, 20.392, 28.282, 19.815, 22.502}}};
  const std::vector<std::vector<double>> bands = {independent_bands(), lambda_bands(0.5),
                                                  lambda_bands(0.9),   bisr_bands(4),
                                                  bisr_bands(16),      bisr_bands(64)};
  for (const Reference& reference : references) {
    for (std::size_t i = 0; i < bands.size(); ++i) {
      const double moved = sensitivity(bands[i], reference.who);
      const double noise = moved * accumulated_noise(bands[i], reference.who.steps);
      EXPECT_NEAR(moved, reference.sensitivity[i], 1e-4) << reference.who.steps << " " << i;
      EXPECT_NEAR(noise, reference.noise[i], 1e-3) << reference.who.steps << " " << i;
    }
  }
}

// Random bands whose column holds, random participation: the first and closest steps are the worst.
TEST(CorrelatedNoise, SensitivityIsTheWorstOfAllSetsOfSteps) {
  std::mt19937_64 random(20);  // NOLINT: the same cases every time
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t steps = 1 + random() % 10;
    std::vector<double> bands = {1.0};
    double left = uniform(random);
    for (std::size_t j = random() % 5; j > 0; --j) {
      bands.push_back(-left * uniform(random));
      left += bands.back();
    }
    const Participation who = {steps, 1 + random() % 5, 1 + random() % 4};
    const Matrix m = dense_matrix(bands, steps);
    bool holds = true;
    for (std::size_t i = 1; i < steps; ++i) holds = holds && m[i][0] <= m[i - 1][0];
    if (!holds) {
      EXPECT_THROW(sensitivity(bands, who), UserError);
      continue;
    }
    const double worst = largest_norm(m, who, 0, std::vector<double>(steps, 0.0), 0);
    EXPECT_NEAR(sensitivity(bands, who), worst, 1e-12 * worst) << round;
  }
}

TEST(CorrelatedNoise, PrefixesAreBlocksOfTheirOwn) {
  for (const auto& bands : {lambda_bands(0.9), bisr_bands(16), independent_bands()}) {
    for (const std::uint64_t times : {1, 3, 9}) {
      const std::vector<double> prefixes = sensitivities(bands, {90, 10, times});
      ASSERT_EQ(prefixes.size(), 91);
      EXPECT_EQ(prefixes[0], 0.0);
      for (std::uint64_t n = 1; n <= 90; ++n) {
        EXPECT_NEAR(prefixes[n], sensitivity(bands, {n, 10, times}), 1e-12);
      }
    }
  }
}

TEST(CorrelatedNoise, AccumulatedNoiseIsThatOfTheDenseInverse) {
  const std::vector<double> bands = bisr_bands(7);
  constexpr std::size_t kSteps = 30;
  double total = 0.0;
  for (std::size_t t = 1; t <= kSteps; ++t) {
    for (std::size_t k = 0; k < t; ++k) {  // how much of zeta_k is in n_0 + ... + n_{t-1}
      double share = 0.0;
      for (std::size_t i = k; i < t; ++i) share += i - k < bands.size() ? bands[i - k] : 0.0;
      total += share * share;
    }
  }
  EXPECT_NEAR(accumulated_noise(bands, kSteps), std::sqrt(total / kSteps), 1e-12);
}

TEST(CorrelatedNoise, BestLambdaBeatsItsNeighbours) {
  for (const Participation& who : std::vector<Participation>{
           {200, 200, 1}, {2000, 2000, 1}, {200, 50, 4}, {480, 24, 20}, {50, 1, 50}}) {
    const auto noise = [&](double lambda) {
      const std::vector<double> bands = lambda_bands(lambda);
      return sensitivity(bands, who) * accumulated_noise(bands, who.steps);
    };
    const double best = best_lambda(who);
    for (double lambda = 0.0; lambda < 0.9995; lambda += 0.001) {
      EXPECT_LE(noise(best), noise(lambda) * (1 + 1e-7)) << who.steps << " " << best;
    }
  }
  const auto at_best = [](const Participation& who) {
    const std::vector<double> bands = lambda_bands(best_lambda(who));
    return sensitivity(bands, who) * accumulated_noise(bands, who.steps);
  };
  EXPECT_NEAR(at_best({200, 200, 1}), 3.238, 1e-3);
  EXPECT_NEAR(at_best({2000, 2000, 1}), 5.667, 1e-3);
  EXPECT_EQ(best_lambda({1, 1, 1}), 0.0);  // one step: nothing to correlate with
}

TEST(CorrelatedNoise, BisrIsTheSquareRootOfTheInverseOfPrefixSums) {
  const std::vector<double> d = bisr_bands(40);
  for (std::size_t n = 0; n < d.size(); ++n) {
    double square = 0.0;
    for (std::size_t j = 0; j <= n; ++j) square += d[j] * d[n - j];
    EXPECT_NEAR(square, n == 0 ? 1.0 : n == 1 ? -1.0 : 0.0, 1e-15);
  }
}

TEST(CorrelatedNoise, RefusesWhatHasNoKnownSensitivity) {
  EXPECT_THROW(sensitivity(std::vector<double>{1.0, 0.5}, {10, 10, 1}), UserError);   // c < 0
  EXPECT_THROW(sensitivity(std::vector<double>{1.0, -1.5}, {10, 10, 1}), UserError);  // c rises
  EXPECT_THROW(sensitivity(std::vector<double>{1.0, NAN}, {10, 10, 1}), UserError);
  EXPECT_THROW(sensitivity(std::vector<double>{2.0, -0.5}, {10, 10, 1}), UserError);
  EXPECT_THROW(sensitivity(std::vector<double>{}, {10, 10, 1}), UserError);
  EXPECT_THROW(sensitivity(independent_bands(), {0, 1, 1}), UserError);
  EXPECT_THROW(sensitivity(independent_bands(), {10, 0, 1}), UserError);
  EXPECT_THROW(sensitivity(independent_bands(), {10, 1, 0}), UserError);
  EXPECT_THROW(lambda_bands(1.0), UserError);
  EXPECT_THROW(lambda_bands(-0.1), UserError);
  EXPECT_THROW(bisr_bands(0), UserError);
  EXPECT_THROW(bisr_bands(kMostBands + 1), UserError);
}

}  // namespace
}  // namespace lazydp
