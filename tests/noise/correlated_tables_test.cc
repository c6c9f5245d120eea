// Tables whose noise is correlated, against a dense loop that adds every step's noise to every row,
// and the law of rows that draw several cells at once.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "lazydp/noise/dense_optimizer.h"
#include "lazydp/noise/sgd_tables.h"
#include "tests/support/normality.h"

namespace lazydp {
namespace {

constexpr RowId kRows = 40;
constexpr std::size_t kDim = 20;

std::vector<double> bisr(std::size_t bands) {
  std::vector<double> d = {1.0};
  while (d.size() < bands) {
    const auto j = static_cast<double>(d.size());
    d.push_back(d.back() * (j - 1.5) / j);
  }
  return d;
}

std::vector<double> bands_of(std::size_t count) {
  return count == 2 ? std::vector<double>{1.0, -0.9} : bisr(count);
}

struct MadeUpStep {
  Bags bags;
  Matrix gradient;
  double step_size = 0.0, noise_std = 0.0, shrink = 1.0;
  std::vector<RowId> also_read;  // after the step, by an evaluation
};

std::vector<MadeUpStep> make_steps(std::size_t count, bool decays, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> uniform(0.1, 1.0);
  std::normal_distribution<float> normal;
  std::vector<MadeUpStep> steps(count);
  for (MadeUpStep& step : steps) {
    for (std::size_t k = rng() % 5; k > 0; --k) {
      step.bags.ids.push_back(static_cast<RowId>(rng() % kRows));
      step.bags.offsets.push_back(step.bags.ids.size());
    }
    step.gradient.reshape(step.bags.size(), kDim);
    for (std::size_t i = 0; i < step.bags.size() * kDim; ++i) step.gradient.data()[i] = normal(rng);
    step.step_size = uniform(rng);
    step.noise_std = uniform(rng);
    step.shrink = decays ? 1.0 - 0.1 * uniform(rng) : 1.0;
    for (std::size_t k = rng() % 3; k > 0; --k) {
      step.also_read.push_back(static_cast<RowId>(rng() % kRows));
    }
  }
  return steps;
}

struct MadeUpRun {
  NoisePolicy policy;
  bool decays = false;
  NoisePasses passes = NoisePasses::fused;
  Step before_block = 0;  // steps of an earlier run, under another key
};

std::vector<float> train(const MadeUpRun& run, const std::vector<double>& bands,
                         const std::vector<MadeUpStep>& steps) {
  std::vector<Table> tables;
  tables.emplace_back(TableId{4}, kRows, kDim);
  VarianceClock clock{Correlation(bands)};
  const NoiseSource noise(Seed::fixed(9));
  SgdTables updates(run.policy, tables, clock, noise,
                    run.decays ? WeightDecay::on : WeightDecay::off, run.passes);
  if (run.before_block > 0) {
    clock.restore_settled(run.before_block);
    std::ranges::fill(updates.settled_through(0), run.before_block);
  }
  StageClock stages;
  for (const MadeUpStep& step : steps) {
    const Step t = clock.open(step.step_size, step.noise_std, step.shrink);
    const Ids ids = step.bags.ids;
    updates.settle(t - 1, {&ids, 1}, stages);
    const TableGradient gradient = {&step.bags, Pooling::sum, step.gradient.view()};
    updates.apply(t, {&gradient, 1}, stages);
    const Ids read = step.also_read;
    updates.settle(t, {&read, 1}, stages);
  }
  updates.settle_all(clock.now());
  const float* first = tables[0].row(0).data();
  return {first, first + kRows * kDim};
}

// DP-SGD with correlated noise as it is written, in double: n_i = deviation_i sum_j d_j z_{i-j}.
std::vector<double> as_written(const std::vector<double>& bands,
                               const std::vector<MadeUpStep>& steps, Step before_block) {
  std::vector<double> w(kRows * kDim, 0.0);
  const NoiseSource noise(Seed::fixed(9));
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const MadeUpStep& step = steps[s];
    const Step t = before_block + static_cast<Step>(s) + 1;
    for (double& x : w) x *= step.shrink;
    for (std::size_t b = 0; b < step.bags.size(); ++b) {
      for (std::size_t j = 0; j < kDim; ++j) {
        w[static_cast<std::size_t>(step.bags.ids[b]) * kDim + j] -=
            step.step_size * double(step.gradient.row(b)[j]);
      }
    }
    for (Step j = 0; j < bands.size() && t - j > before_block; ++j) {
      const NoiseCells cells = noise.table(4, kRows, kDim, CellKind::each_step, t - j);
      for (RowId r = 0; r < kRows; ++r) {
        std::vector<float> z(kDim);
        const NoisyRow row = {z.data(), static_cast<std::uint64_t>(r), 1.0f, 1.0f};
        cells.add({&row, 1}, kDim);
        for (std::size_t i = 0; i < kDim; ++i) {
          w[static_cast<std::size_t>(r) * kDim + i] +=
              step.step_size * step.noise_std * bands[j] * z[i];
        }
      }
    }
  }
  return w;
}

template <class A, class B>
double distance(const A& a, const B& b) {
  double worst = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(double(a[i]) - b[i]));
  return worst;
}

struct Setting {
  std::size_t bands;
  bool decays;
  Step before_block;
};

class Correlated : public testing::TestWithParam<Setting> {};

TEST_P(Correlated, EagerAndLateNoiseAreDpSgdAsWritten) {
  const auto& [count, decays, before] = GetParam();
  const auto bands = bands_of(count);
  const auto steps = make_steps(40, decays, 1);
  const auto expected = as_written(bands, steps, before);
  for (const NoisePasses passes : {NoisePasses::fused, NoisePasses::split}) {
    for (const NoisePolicy policy : {NoisePolicy::every_row, NoisePolicy::lazy_each_step}) {
      EXPECT_LT(distance(train({policy, decays, passes, before}, bands, steps), expected), 2e-5)
          << static_cast<int>(policy);
    }
    EXPECT_GT(distance(train({NoisePolicy::lazy_aggregated, decays, passes, before}, bands, steps),
                       expected),
              0.1)
        << "other cells, of the same law";
  }
  const auto alone = as_written({1.0}, steps, before);
  EXPECT_GT(distance(alone, expected), 0.1) << "the correlation must matter";
  if (before > 0) {
    EXPECT_GT(distance(as_written(bands, steps, 0), expected), 0.1) << "and where a block begins";
  }
}

// The passes of the paper's stages draw the same cells.
TEST_P(Correlated, FusedAndSplitPassesAgreeWhereCellsAreDrawnAtOnce) {
  const auto& [count, decays, before] = GetParam();
  const auto bands = bands_of(count);
  const auto steps = make_steps(40, decays, 2);
  const NoisePolicy policy = NoisePolicy::lazy_aggregated;
  EXPECT_LT(distance(train({policy, decays, NoisePasses::fused, before}, bands, steps),
                     train({policy, decays, NoisePasses::split, before}, bands, steps)),
            2e-5);
}

INSTANTIATE_TEST_SUITE_P(Settings, Correlated,
                         testing::Values(Setting{2, false, 0}, Setting{2, true, 7},
                                         Setting{4, false, 3}, Setting{4, true, 0},
                                         Setting{16, true, 5}, Setting{16, false, 0}));

// The law. Rates fall, and weights decay a little.
double rate(Step t) {
  return std::pow(0.97, t);
}
constexpr double kShrink = 0.995;

double weight(const std::vector<double>& bands, Step cell, Step after, Step through) {
  double w = 0.0;
  for (Step i = after + 1; i <= through; ++i) {
    w *= kShrink;
    if (i >= cell && i - cell < bands.size()) w += rate(i) * bands[i - cell];
  }
  return w;
}

// Reads with gaps of 1, b - 1, b, b + 1, 2 b + 5 and 40 steps.
std::vector<Step> moments_for(std::size_t bands) {
  const auto b = static_cast<Step>(bands);
  std::vector<Step> moments = {3};
  for (const Step gap : {Step{1}, b - 1, b, b + 1, 2 * b + 5, Step{40}}) {
    moments.push_back(moments.back() + gap);
  }
  return moments;
}

// Returns the root of the covariance of a row's increments between reads, what each read adds to
// what the last one left, shrunk: a lower triangular matrix.
std::vector<std::vector<double>> root_of_covariance(const std::vector<double>& bands,
                                                    const std::vector<Step>& moments) {
  const std::size_t n = moments.size();
  std::vector<std::vector<double>> root(n, std::vector<double>(n, 0.0));
  const auto after = [&](std::size_t m) { return m == 0 ? Step{0} : moments[m - 1]; };
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0.0;
      for (Step k = 1; k <= moments[j]; ++k) {
        sum += weight(bands, k, after(i), moments[i]) * weight(bands, k, after(j), moments[j]);
      }
      for (std::size_t k = 0; k < j; ++k) sum -= root[i][k] * root[j][k];
      root[i][j] = i == j ? std::sqrt(sum) : sum / root[j][j];
    }
  }
  return root;
}

// Increments, made independent standard normals by the inverse of that root: all of their joint law
// is in the normality of each and in their products.
struct Whitened {
  std::vector<oracle::Normality> at;
  std::vector<std::vector<double>> products;
  double n = 0.0;

  std::string objections() const {
    std::string all;
    for (std::size_t i = 0; i < at.size(); ++i) {
      all += at[i].objections();
      for (std::size_t j = 0; j < i; ++j) {
        const double z = products[i][j] / std::sqrt(n);
        if (!(std::abs(z) < 5.5)) {
          all += "product of " + std::to_string(i) + " and " + std::to_string(j) +
                 ": z = " + std::to_string(z) + "; ";
        }
      }
    }
    return all;
  }
};

Whitened draw(std::size_t count, double std_error, std::uint64_t keys) {
  constexpr RowId kMany = 64;
  const auto bands = bands_of(count);
  const auto moments = moments_for(count);
  const auto root = root_of_covariance(bands, moments);
  const std::size_t n = moments.size();
  Whitened out{.at = std::vector<oracle::Normality>(n),
               .products = std::vector<std::vector<double>>(n, std::vector<double>(n, 0.0))};
  std::vector<RowId> all(kMany);
  for (RowId r = 0; r < kMany; ++r) all[static_cast<std::size_t>(r)] = r;
  for (std::uint64_t key = 0; key < keys; ++key) {
    std::vector<Table> tables;
    tables.emplace_back(TableId{0}, kMany, kDim);
    VarianceClock clock{Correlation(bands)};
    const NoiseSource noise(Seed::fixed(2000 + key));
    SgdTables updates(NoisePolicy::lazy_aggregated, tables, clock, noise, WeightDecay::on);
    StageClock stages;
    const std::size_t weights = kMany * kDim;
    std::vector<double> before(weights, 0.0);
    std::vector<std::vector<float>> white(n, std::vector<float>(weights));
    for (std::size_t m = 0; m < n; ++m) {
      const Step after = clock.now();
      while (clock.now() < moments[m]) {
        clock.open(rate(clock.now() + 1) * std_error, 1.0, kShrink);
      }
      const Ids ids = all;
      updates.settle(clock.now(), {&ids, 1}, stages);
      const float* w = tables[0].row(0).data();
      const double shrink = std::pow(kShrink, clock.now() - after);
      for (std::size_t i = 0; i < weights; ++i) {
        double rest = w[i] - shrink * before[i];
        before[i] = w[i];
        for (std::size_t k = 0; k < m; ++k) rest -= root[m][k] * white[k][i];
        white[m][i] = static_cast<float>(rest / root[m][m]);
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      out.at[i].add(white[i]);
      for (std::size_t j = 0; j < i; ++j) {
        for (std::size_t w = 0; w < weights; ++w) {
          out.products[i][j] += double(white[i][w]) * white[j][w];
        }
      }
    }
    out.n += static_cast<double>(weights);
  }
  return out;
}

class Bands : public testing::TestWithParam<std::size_t> {};

TEST_P(Bands, LateNoiseHasTheJointLawOfEagerNoiseOverSeveralReads) {
  EXPECT_EQ(draw(GetParam(), 1.0, 200).objections(), "");  // 256,000 numbers at each read
}

TEST_P(Bands, ADeviationOffByFivePercentIsCaught) {
  for (const auto& at : draw(GetParam(), 1.05, 30).at) EXPECT_NE(at.objections(), "");
}

INSTANTIATE_TEST_SUITE_P(Counts, Bands, testing::Values(2, 4, 16));

// The noise of dense weights is that of the tables' steps, and begins its blocks with them.
TEST(CorrelatedDense, StepsReceiveTheBandsOfTheirCells) {
  constexpr std::size_t kWeights = 1500;
  const auto bands = bisr(4);
  const DenseStep step = {.rate = 0.5, .divisor = 4.0, .noise_std = 3.0};
  const NoiseSource noise(Seed::fixed(1));
  const std::vector<float> gradient(kWeights, 1.0f);
  for (const Step before : {Step{0}, Step{6}}) {
    DenseOptimizer optimizer(DenseRule::sgd, kWeights, Correlation(bands));
    optimizer.begin_block_after(before);
    std::vector<float> weights(kWeights, 0.0f);
    std::vector<double> expected(kWeights, 0.0);
    for (Step t = before + 1; t <= before + 9; ++t) {
      optimizer.update(weights, gradient, t, step, noise);
      for (double& w : expected) w -= 0.5 * 1.0 / 4.0;
      for (Step j = 0; j < 4 && t - j > before; ++j) {
        for (std::size_t first = 0; first < kWeights; first += 1024) {
          std::vector<float> z(std::min<std::size_t>(1024, kWeights - first), 0.0f);
          const NoisyRow row = {z.data(), first / 1024, 1.0f, 1.0f};
          noise.dense(t - j).add({&row, 1}, z.size());
          for (std::size_t i = 0; i < z.size(); ++i) {
            expected[first + i] += 0.5 * 3.0 * bands[j] * z[i] / 4.0;
          }
        }
      }
    }
    EXPECT_LT(distance(weights, expected), 2e-5);
  }
}

}  // namespace
}  // namespace lazydp
