// The law of aggregated noise: with gradients that do not depend on weights, a row is a Gaussian
// process with Cov(W_s, W_t) = V(0, min(s, t)) at the moments it is read.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lazydp/noise/sgd_tables.h"
#include "tests/support/normality.h"

namespace lazydp {
namespace {

constexpr RowId kRows = 64;
constexpr std::size_t kDim = 32;

// Rates fall by four orders of magnitude; σ and C change too.
double rate(Step t) {
  return std::pow(0.9, t);
}
double noise_std(Step t) {
  return t % 2 == 0 ? 1.0 : 0.5;
}

double variance(Step from, Step to) {
  double sum = 0.0;
  for (Step t = from + 1; t <= to; ++t) sum += std::pow(rate(t) * noise_std(t), 2);
  return sum;
}

// The values of a row read at steps 10, 30, 31 and at the end, at each of these moments, in units
// of the deviation they should have, and the increments between them in theirs.
struct Samples {
  oracle::Normality at[4];
  oracle::Normality increments[4];
  double product[4][4] = {};  // sums of products of increments
  double n = 0.0;
};

Samples draw(double std_error, std::uint64_t keys) {
  Samples out;
  const Step moments[4] = {10, 30, 31, 90};
  std::vector<RowId> all(kRows);
  for (RowId r = 0; r < kRows; ++r) all[static_cast<std::size_t>(r)] = r;
  for (std::uint64_t key = 0; key < keys; ++key) {
    std::vector<Table> tables;
    tables.emplace_back(TableId{0}, kRows, kDim);
    VarianceClock clock;
    const NoiseSource noise(Seed::fixed(1000 + key));
    SgdTables updates(NoisePolicy::lazy_aggregated, tables, clock, noise, WeightDecay::off);
    StageClock stages;
    std::vector<float> before(kRows * kDim, 0.0f);
    std::vector<std::vector<float>> increments(4);
    for (std::size_t m = 0; m < 4; ++m) {
      while (clock.now() < moments[m]) {
        const Step t = clock.now() + 1;
        clock.open(rate(t), noise_std(t) * std_error, 1.0);
      }
      const Ids ids = all;
      if (m < 3) {
        updates.settle(clock.now(), {&ids, 1}, stages);
      } else {
        updates.settle_all(clock.now());
      }
      const float* w = tables[0].row(0).data();
      const Step from = m == 0 ? 0 : moments[m - 1];
      std::vector<float> level(kRows * kDim);
      increments[m].resize(level.size());
      for (std::size_t i = 0; i < level.size(); ++i) {
        level[i] = static_cast<float>(w[i] / std::sqrt(variance(0, moments[m])));
        increments[m][i] =
            static_cast<float>((double(w[i]) - before[i]) / std::sqrt(variance(from, moments[m])));
        before[i] = w[i];
      }
      out.at[m].add(level);
      out.increments[m].add(increments[m]);
    }
    for (std::size_t i = 0; i < before.size(); ++i) {
      for (std::size_t a = 0; a < 4; ++a) {
        for (std::size_t b = 0; b < a; ++b)
          out.product[a][b] += increments[a][i] * increments[b][i];
      }
    }
    out.n += static_cast<double>(before.size());
  }
  return out;
}

TEST(AggregatedNoise, HasTheVarianceOfAllTheStepsMissedAtEveryReadAndAtTheEnd) {
  const Samples s = draw(1.0, 200);  // 400,000 numbers at each moment
  for (std::size_t m = 0; m < 4; ++m) {
    EXPECT_EQ(s.at[m].objections(), "") << "moment " << m;
    EXPECT_EQ(s.increments[m].objections(), "") << "increment " << m;
  }
}

TEST(AggregatedNoise, IncrementsBetweenReadsAreIndependent) {
  const Samples s = draw(1.0, 200);
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_LT(std::abs(s.product[a][b] / std::sqrt(s.n)), 5.0) << a << " and " << b;
    }
  }
}

TEST(AggregatedNoise, ADeviationOffByFivePercentIsCaught) {
  const Samples s = draw(1.05, 20);
  for (const auto& moment : s.at) EXPECT_NE(moment.objections(), "");
}

TEST(AggregatedNoise, RowsAndCoordinatesAreUncorrelated) {
  std::vector<Table> tables;
  tables.emplace_back(TableId{0}, 2000, kDim);
  VarianceClock clock;
  const NoiseSource noise(Seed::fixed(5));
  SgdTables updates(NoisePolicy::lazy_aggregated, tables, clock, noise, WeightDecay::off);
  clock.open(1.0, 1.0, 1.0);
  updates.settle_all(1);
  for (const std::size_t lag : {1u, 8u, 16u, 32u, 64u}) {  // lanes, groups, rows
    double sum = 0.0;
    const std::size_t n = 2000 * kDim - lag;
    const float* w = tables[0].row(0).data();
    for (std::size_t i = 0; i < n; ++i) sum += double(w[i]) * w[i + lag];
    EXPECT_LT(std::abs(sum / std::sqrt(double(n))), 5.0) << "lag " << lag;
  }
}

}  // namespace
}  // namespace lazydp
