// Momentum: the drift of waiting rows against torch's rule walked step by step, and its noise.

#include "lazydp/noise/momentum_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "lazydp/noise/variance_clock.h"

namespace lazydp {
namespace {

// torch.optim.SGD on one number, as its documentation writes it.
struct Sgd {
  long double w = 0, m = 0;
  bool has_momentum = false;

  void step(long double g, const TableStep& s) {
    g /= s.divisor;
    g += s.weight_decay * w;
    if (!has_momentum) {
      m = g;
    } else {
      m = s.momentum * m + (1 - s.dampening) * g;
    }
    has_momentum = true;
    w -= s.learning_rate * (s.nesterov ? g + s.momentum * m : m);
  }
};

std::vector<TableStep> schedule(Step steps, bool nesterov, double final_rate) {
  std::vector<TableStep> all;
  for (Step t = 0; t < steps; ++t) {
    const double part = static_cast<double>(t) / steps;
    all.push_back({.learning_rate = 0.5 * std::pow(final_rate, part),
                   .weight_decay = 0.02,
                   .momentum = 0.9 - 0.1 * part,
                   .dampening = nesterov ? 0.0 : 0.3,
                   .nesterov = nesterov,
                   .first = t == 0,
                   .divisor = 4.0,
                   .noise_std = 1.0 + part});
  }
  return all;
}

class Momentum : public testing::TestWithParam<bool> {};

TEST_P(Momentum, DriftOfAnyRunOfStepsIsThatOfTorchsRule) {
  constexpr Step kSteps = 400;
  const auto steps = schedule(kSteps, GetParam(), 1e-6);
  MomentumClock clock;
  for (const TableStep& step : steps) clock.open(step);
  std::mt19937 rng(5);
  for (int trial = 0; trial < 300; ++trial) {
    Step after = rng() % kSteps;
    Step through = rng() % (kSteps + 1);
    if (after > through) std::swap(after, through);
    const Drift drift = clock.through(through).since(after);
    // Linear in (m, w) and in each step's noise: read the coefficients off one by one.
    const auto walk = [&](long double m, long double w, Step noisy) {
      Sgd sgd{w, m, after > 0};
      for (Step t = after + 1; t <= through; ++t) {
        sgd.step(t == noisy ? steps[t - 1].noise_std : 0.0, steps[t - 1]);
      }
      return sgd;
    };
    const Sgd from_w = walk(0, 1, 0);
    EXPECT_NEAR(drift.ww, static_cast<double>(from_w.w), 1e-9);
    EXPECT_NEAR(drift.mw, static_cast<double>(from_w.m), 1e-9);
    if (after > 0) {
      const Sgd from_m = walk(1, 0, 0);
      EXPECT_NEAR(drift.wm, static_cast<double>(from_m.w), 1e-9);
      EXPECT_NEAR(drift.mm, static_cast<double>(from_m.m), 1e-9);
    }
    long double var_w = 0, var_m = 0, cov = 0;
    for (Step t = after + 1; t <= through; ++t) {
      const Sgd noise = walk(0, 0, t);
      var_w += noise.w * noise.w;
      var_m += noise.m * noise.m;
      cov += noise.w * noise.m;
    }
    EXPECT_NEAR(drift.var_w, static_cast<double>(var_w), 1e-9 * static_cast<double>(var_w));
    EXPECT_NEAR(drift.var_m, static_cast<double>(var_m), 1e-9 * static_cast<double>(var_m));
    EXPECT_NEAR(drift.cov, static_cast<double>(cov),
                1e-9 * std::sqrt(static_cast<double>(var_w * var_m)));
  }
}

constexpr RowId kRows = 40;
constexpr std::size_t kDim = 60;

// A table under one policy, driven by a script of gradients that depend on no weight.
struct World {
  std::vector<Table> tables;
  MomentumClock clock;
  NoiseSource noise;
  MomentumTables updates;
  StageClock stages;

  World(NoisePolicy policy, std::uint64_t seed)
      : tables(one_table()), noise(Seed::fixed(seed)), updates(policy, tables, clock, noise) {
    for (RowId r = 0; r < kRows; ++r)
      std::ranges::fill(tables[0].row(r), 0.1f * static_cast<float>(r));
  }

  static std::vector<Table> one_table() {
    std::vector<Table> tables;
    tables.emplace_back(TableId{0}, kRows, kDim);
    return tables;
  }
  std::span<const float> weights(RowId r) const { return tables[0].row(r); }
  std::span<const float> momentum(RowId r) {
    return updates.state(0)[0].values.subspan(static_cast<std::size_t>(r) * kDim, kDim);
  }

  void run(const std::vector<TableStep>& steps) {
    std::mt19937 rng(9);
    Matrix pooled(2, kDim);
    for (const TableStep& step : steps) {
      Bags bags;
      for (int i = 0; i < 5; ++i) bags.ids.push_back(static_cast<RowId>(rng() % (kRows - 5)));
      bags.offsets = {0, 2, 5};
      for (std::size_t i = 0; i < 2 * kDim; ++i) {
        pooled.data()[i] = static_cast<float>(rng() % 100) / 50.0f - 1.0f;
      }
      const Ids ids = bags.ids;
      updates.settle(clock.now(), {&ids, 1}, stages);
      const Step t = clock.open(step);
      const TableGradient gradient = {&bags, Pooling::sum, pooled.view()};
      updates.apply(t, {&gradient, 1}, stages);
    }
    updates.settle_all(clock.now());
  }
};

TEST_P(Momentum, LateNoiseDrawnStepByStepEndsWhereEagerNoiseDoes) {
  const auto steps = schedule(60, GetParam(), 0.1);
  World eager(NoisePolicy::every_row, 7);
  World lazy(NoisePolicy::lazy_each_step, 7);
  eager.run(steps);
  lazy.run(steps);
  for (RowId r = 0; r < kRows; ++r) {
    for (std::size_t j = 0; j < kDim; ++j) {
      EXPECT_NEAR(lazy.weights(r)[j], eager.weights(r)[j], 1e-5);
      EXPECT_NEAR(lazy.momentum(r)[j], eager.momentum(r)[j], 1e-5);
    }
  }
}

// Over keys: (m, w) of touched and untouched rows under aggregated noise, centred by the noiseless
// run, has the covariance of the whole run whatever was read in between. With 200 keys x 60
// coordinates a moment's relative error is 1.3 % (one sigma): the bound of 6 % fails by chance with
// probability 1e-5, and catches noise that is 5 % too large (its variance is 10 % too large).
TEST_P(Momentum, AggregatedNoiseHasTheCovarianceOfTheRun) {
  auto steps = schedule(30, GetParam(), 0.1);
  MomentumClock clock;
  for (const TableStep& step : steps) clock.open(step);
  const Drift whole = clock.through(clock.now()).since(0);
  auto quiet = steps;
  for (TableStep& step : quiet) step.noise_std = 0.0;
  World mean(NoisePolicy::lazy_aggregated, 1);
  mean.run(quiet);
  for (const RowId row : {RowId{3}, kRows - 1}) {  // touched often; never
    double ww = 0, mm = 0, mw = 0;
    constexpr int kKeys = 200;
    for (int key = 0; key < kKeys; ++key) {
      World world(NoisePolicy::lazy_aggregated, 100 + static_cast<std::uint64_t>(key));
      world.run(steps);
      for (std::size_t j = 0; j < kDim; ++j) {
        const double w = world.weights(row)[j] - mean.weights(row)[j];
        const double m = world.momentum(row)[j] - mean.momentum(row)[j];
        ww += w * w;
        mm += m * m;
        mw += m * w;
      }
    }
    const double n = kKeys * static_cast<double>(kDim);
    EXPECT_NEAR(ww / n, whole.var_w, 0.06 * whole.var_w) << "row " << row;
    EXPECT_NEAR(mm / n, whole.var_m, 0.06 * whole.var_m) << "row " << row;
    EXPECT_NEAR(mw / n, whole.cov, 0.06 * std::sqrt(whole.var_w * whole.var_m)) << "row " << row;
  }
}

INSTANTIATE_TEST_SUITE_P(ClassicAndNesterov, Momentum, testing::Bool());

}  // namespace
}  // namespace lazydp
