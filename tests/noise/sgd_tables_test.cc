// Tables under the five noise policies, against a dense loop that adds every noise to every row.

#include "lazydp/noise/sgd_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

constexpr RowId kRows = 60;
constexpr std::size_t kDim = 20;

// One step of a made-up run: the rows that are read, their gradient, and the rate.
struct MadeUpStep {
  Bags bags;
  Matrix gradient;
  double step_size = 0.0;
  double noise_std = 0.0;
  double shrink = 1.0;
};

std::vector<MadeUpStep> make_steps(std::size_t count, bool decays, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> uniform(0.1, 1.0);
  std::normal_distribution<float> normal;
  std::vector<MadeUpStep> steps(count);
  for (MadeUpStep& step : steps) {
    const std::size_t bags = rng() % 5;  // 0: an empty batch, still a step
    for (std::size_t b = 0; b < bags; ++b) {
      for (std::size_t k = rng() % 4; k > 0; --k) {
        step.bags.ids.push_back(static_cast<RowId>(rng() % kRows));
        if (rng() % 3 == 0) step.bags.ids.push_back(step.bags.ids.back());
      }
      step.bags.offsets.push_back(step.bags.ids.size());
    }
    step.gradient.reshape(bags, kDim);
    for (std::size_t i = 0; i < bags * kDim; ++i) step.gradient.data()[i] = normal(rng);
    step.step_size = uniform(rng);
    step.noise_std = uniform(rng);
    step.shrink = decays ? 1.0 - 0.1 * uniform(rng) : 1.0;
  }
  return steps;
}

// Returns the tables after the steps under a policy: settled before every read and, at the end,
// throughout.
std::vector<float> run(NoisePolicy policy, const std::vector<MadeUpStep>& steps, bool decays,
                       bool settle_at_end = true, bool ahead = false, std::uint64_t seed = 9) {
  std::vector<Table> tables;
  tables.emplace_back(TableId{4}, kRows, kDim);
  for (RowId r = 0; r < kRows; ++r) std::ranges::fill(tables[0].row(r), 0.5f);
  VarianceClock clock;
  const NoiseSource noise(Seed::fixed(seed));
  SgdTables updates(policy, tables, clock, noise, decays ? WeightDecay::on : WeightDecay::off);
  StageClock stages;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const MadeUpStep& step = steps[s];
    const Step t = clock.open(step.step_size, step.noise_std, step.shrink);
    const Ids ids = step.bags.ids;
    updates.settle(t - 1, {&ids, 1}, stages);
    const TableGradient gradient = {&step.bags, Pooling::sum, step.gradient.view()};
    updates.apply(t, {&gradient, 1}, stages);
    if (ahead && s + 1 < steps.size()) {
      const Ids next = steps[s + 1].bags.ids;
      updates.settle(t, {&next, 1}, stages);
    }
  }
  if (settle_at_end) {
    updates.settle_all(clock.now());
    EXPECT_TRUE(updates.all_settled(clock.now()));
  }
  const auto first = tables[0].row(0);
  return {first.data(), first.data() + kRows * kDim};
}

// DP-SGD as it is written, in double: every row, every step. The noise cells are the same.
std::vector<double> dense_reference(const std::vector<MadeUpStep>& steps, std::uint64_t seed = 9) {
  std::vector<double> w(kRows * kDim, 0.5);
  const NoiseSource noise(Seed::fixed(seed));
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const MadeUpStep& step = steps[s];
    const NoiseCells cells =
        noise.table(4, kRows, kDim, CellKind::each_step, static_cast<Step>(s + 1));
    for (double& x : w) x *= step.shrink;
    for (std::size_t b = 0; b < step.bags.size(); ++b) {
      for (const RowId id : step.bags.of(b)) {
        for (std::size_t j = 0; j < kDim; ++j) {
          w[static_cast<std::size_t>(id) * kDim + j] -=
              step.step_size * double(step.gradient.row(b)[j]);
        }
      }
    }
    for (RowId r = 0; r < kRows; ++r) {
      std::vector<float> z(kDim);
      const NoisyRow row = {z.data(), static_cast<std::uint64_t>(r), 1.0f, 1.0f};
      cells.add({&row, 1}, kDim);
      for (std::size_t j = 0; j < kDim; ++j) {
        w[static_cast<std::size_t>(r) * kDim + j] += step.step_size * step.noise_std * z[j];
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

class Decay : public ::testing::TestWithParam<bool> {};

TEST_P(Decay, EagerNoiseIsDpSgdAsWritten) {
  const auto steps = make_steps(30, GetParam(), 1);
  EXPECT_LT(distance(run(NoisePolicy::every_row, steps, GetParam()), dense_reference(steps)), 2e-5);
}

TEST_P(Decay, LateNoiseDrawnStepByStepEndsWhereEagerNoiseDoes) {
  const auto steps = make_steps(30, GetParam(), 2);
  EXPECT_LT(distance(run(NoisePolicy::lazy_each_step, steps, GetParam()), dense_reference(steps)),
            2e-5);
}

TEST_P(Decay, LateNoiseWithoutAFinalSettleIsNotDpSgd) {
  const auto steps = make_steps(30, GetParam(), 2);
  EXPECT_GT(
      distance(run(NoisePolicy::lazy_each_step, steps, GetParam(), false), dense_reference(steps)),
      0.1);
}

TEST_P(Decay, SettlingAheadAndOnReadGiveTheSameBits) {
  const auto steps = make_steps(30, GetParam(), 3);
  for (const NoisePolicy policy : {NoisePolicy::lazy_each_step, NoisePolicy::lazy_aggregated}) {
    EXPECT_EQ(run(policy, steps, GetParam(), true, true), run(policy, steps, GetParam()));
  }
}

TEST_P(Decay, WithoutNoiseAllPoliciesAgree) {
  auto steps = make_steps(30, GetParam(), 4);
  for (MadeUpStep& step : steps) step.noise_std = 0.0;
  const auto expected = dense_reference(steps);
  for (const NoisePolicy policy :
       {NoisePolicy::none, NoisePolicy::every_row, NoisePolicy::touched_rows,
        NoisePolicy::lazy_each_step, NoisePolicy::lazy_aggregated}) {
    EXPECT_LT(distance(run(policy, steps, GetParam()), expected), 2e-5) << int(policy);
  }
}

TEST_P(Decay, EanaNoisesTouchedRowsOnceAStepAndNoOthers) {
  unsigned seed = 1;
  auto steps = make_steps(1, GetParam(), seed);
  while (steps[0].bags.ids.empty()) steps = make_steps(1, GetParam(), ++seed);
  const auto eager = run(NoisePolicy::every_row, steps, GetParam());
  const auto eana = run(NoisePolicy::touched_rows, steps, GetParam());
  for (RowId r = 0; r < kRows; ++r) {
    const bool touched = std::ranges::count(steps[0].bags.ids, r) > 0;
    for (std::size_t j = 0; j < kDim; ++j) {
      const std::size_t i = static_cast<std::size_t>(r) * kDim + j;
      EXPECT_NEAR(eana[i], touched ? eager[i] : float(0.5 * steps[0].shrink), 1e-6) << r;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(WithoutAndWith, Decay, ::testing::Bool());

TEST(LazyUpdate, TheResultDoesNotDependOnTheNumberOfThreads) {
  const auto steps = make_steps(30, true, 5);
  const int before = thread_count();
  for (const NoisePolicy policy :
       {NoisePolicy::none, NoisePolicy::every_row, NoisePolicy::touched_rows,
        NoisePolicy::lazy_each_step, NoisePolicy::lazy_aggregated}) {
    set_thread_count(1);
    const auto one = run(policy, steps, true);
    set_thread_count(2);
    EXPECT_EQ(run(policy, steps, true), one);
    set_thread_count(3);
    EXPECT_EQ(run(policy, steps, true), one);
  }
  set_thread_count(before);
}

// The paper's figure: eight steps, one row, read at steps 4 and 7. Eager adds N1 … N8; lazy adds
// N1+N2+N3 before step 4, N4+N5+N6 before step 7 and N7+N8 at the end; both gradients see the same
// weights.
TEST(LazyUpdate, FollowsThePapersExampleOfDelayedNoise) {
  constexpr RowId kRow = 17;
  std::vector<MadeUpStep> steps(8);
  for (std::size_t s = 0; s < 8; ++s) {
    steps[s].step_size = 0.1 * static_cast<double>(s + 1);  // no two steps are priced alike
    steps[s].noise_std = 1.0;
    if (s + 1 == 4 || s + 1 == 7) {
      steps[s].bags.ids = {kRow};
      steps[s].bags.offsets = {0, 1};
      steps[s].gradient = Matrix(1, kDim);
      steps[s].gradient.fill(s + 1 == 4 ? 2.0f : -1.0f);
    }
  }
  std::vector<Table> tables;
  tables.emplace_back(TableId{4}, kRows, kDim);
  VarianceClock clock;
  const NoiseSource noise(Seed::fixed(9));
  SgdTables updates(NoisePolicy::lazy_each_step, tables, clock, noise, WeightDecay::off);
  StageClock stages;
  // w after the noises of steps first … last, each with its own rate
  const auto noises = [&](Step first, Step last) {
    std::vector<float> sum(kDim, 0.0f);
    for (Step t = first; t <= last; ++t) {
      const NoisyRow row = {sum.data(), kRow, 1.0f, float(0.1 * t)};
      noise.table(4, kRows, kDim, CellKind::each_step, t).add({&row, 1}, kDim);
    }
    return sum;
  };
  const auto expect_row = [&](const std::vector<float>& noise_so_far, float gradient_part) {
    for (std::size_t j = 0; j < kDim; ++j) {
      EXPECT_NEAR(tables[0].row(kRow)[j], noise_so_far[j] + gradient_part, 1e-5);
    }
  };
  for (std::size_t s = 0; s < 8; ++s) {
    const Step t = clock.open(steps[s].step_size, steps[s].noise_std, 1.0);
    const Ids ids = steps[s].bags.ids;
    updates.settle(t - 1, {&ids, 1}, stages);
    if (t == 4) expect_row(noises(1, 3), 0.0f);
    if (t == 6) expect_row(noises(1, 3), -0.4f * 2.0f);  // waiting: N4 … N6 are owed
    if (t == 7) expect_row(noises(1, 6), -0.4f * 2.0f);
    const TableGradient gradient = {&steps[s].bags, Pooling::sum, steps[s].gradient.view()};
    updates.apply(t, {&gradient, 1}, stages);
  }
  updates.settle_all(8);
  expect_row(noises(1, 8), -0.4f * 2.0f + 0.7f);
}

TEST(LazyUpdate, SettlingTwiceChangesNothing) {
  std::vector<Table> tables;
  tables.emplace_back(TableId{0}, kRows, kDim);
  VarianceClock clock;
  const NoiseSource noise(Seed::fixed(1));
  SgdTables updates(NoisePolicy::lazy_aggregated, tables, clock, noise, WeightDecay::off);
  StageClock stages;
  for (int i = 0; i < 5; ++i) clock.open(1.0, 1.0, 1.0);
  const std::vector<RowId> named = {3, 3, 8};
  const Ids ids = named;
  updates.settle(5, {&ids, 1}, stages);
  const std::vector<float> once(tables[0].row(3).begin(), tables[0].row(3).end());
  EXPECT_NE(once[0], 0.0f);
  updates.settle(5, {&ids, 1}, stages);
  updates.settle(4, {&ids, 1}, stages);  // and going back is no way to draw again
  EXPECT_TRUE(std::ranges::equal(once, tables[0].row(3)));
  EXPECT_EQ(updates.settled_through(0)[3], 5u);
  EXPECT_FALSE(updates.all_settled(5));
}

TEST(LazyUpdate, CountsTheRowsItTouches) {
  std::vector<Table> tables;
  tables.emplace_back(TableId{0}, kRows, kDim);
  VarianceClock clock;
  const NoiseSource noise(Seed::fixed(1));
  SgdTables lazy(NoisePolicy::lazy_aggregated, tables, clock, noise, WeightDecay::off);
  SgdTables eager(NoisePolicy::every_row, tables, clock, noise, WeightDecay::off);
  StageClock stages;
  clock.open(1.0, 1.0, 1.0);
  clock.open(1.0, 1.0, 1.0);
  const std::vector<RowId> named = {3, 3, 8};
  const Ids ids = named;
  lazy.settle(1, {&ids, 1}, stages);
  EXPECT_EQ(lazy.traffic().written, 2u);
  const Bags none;
  const TableGradient nothing = {&none, Pooling::sum, {nullptr, 0, kDim, kDim}};
  eager.apply(2, {&nothing, 1}, stages);
  EXPECT_EQ(eager.traffic().written, static_cast<std::uint64_t>(kRows));
  EXPECT_EQ(lazy.bytes(), kRows * 4u);
  EXPECT_EQ(eager.bytes(), 0u);
}

}  // namespace
}  // namespace lazydp
