#include "lazydp/engine/noise_engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

constexpr std::size_t kDim = 4;
constexpr StepRule kRule = {
    .learning_rate = 0.5, .clip_norm = 2.0, .noise_multiplier = 1.5, .expected_batch = 8.0};

// A caller's two tables, and an engine on them.
struct OtherTrainer {
  explicit OtherTrainer(const EngineOptions& options, std::size_t rows = 6)
      : first(rows * kDim, 1.0f), second(rows * kDim, -2.0f), engine(tables(), options) {}

  std::vector<BorrowedTable> tables() { return {{first, kDim}, {second, kDim}}; }

  // Row 1 of the first table and, three times in one bag, row 4; nothing of the second.
  Step step(const StepRule& rule) {
    static const std::vector<RowId> ids = {1, 4, 4, 4};
    static const std::vector<std::size_t> offsets = {0, 1, 4};
    static const std::vector<float> values = {1, 2, 3, 4, 10, 20, 30, 40};
    const std::vector<BagGradients> gradients = {{ids, offsets, values}, {}};
    return engine.step(rule, gradients);
  }

  std::vector<float> first;
  std::vector<float> second;
  NoiseEngine engine;
};

StepRule without_noise(double decay = 0.0) {
  StepRule rule = kRule;
  rule.noise_multiplier = 0.0;
  rule.weight_decay = decay;
  return rule;
}

TEST(NoiseEngine, WithoutNoiseIsPlainSgd) {
  OtherTrainer trainer({});
  EXPECT_EQ(trainer.step(without_noise()), 1u);
  EXPECT_EQ(trainer.step(without_noise()), 2u);
  trainer.engine.settle_all();
  const float rate = 0.5f / 8.0f;
  for (std::size_t d = 0; d < kDim; ++d) {
    const auto g = static_cast<float>(d + 1);
    EXPECT_FLOAT_EQ(trainer.first[1 * kDim + d], 1.0f - 2.0f * rate * g);
    EXPECT_FLOAT_EQ(trainer.first[4 * kDim + d], 1.0f - 2.0f * rate * 3.0f * 10.0f * g);
    EXPECT_EQ(trainer.first[2 * kDim + d], 1.0f);
    EXPECT_EQ(trainer.second[1 * kDim + d], -2.0f);
  }
}

TEST(NoiseEngine, DecayReachesRowsThatAreNeverRead) {
  OtherTrainer trainer({.decays = true});
  for (int t = 0; t < 3; ++t) trainer.step(without_noise(0.1));
  trainer.engine.settle_all();
  const double shrink = 1.0 - 0.5 * 0.1;
  EXPECT_NEAR(trainer.second[0], -2.0 * shrink * shrink * shrink, 1e-6);
  double w = 1.0;
  for (int t = 0; t < 3; ++t) w = shrink * w - 0.5 / 8.0 * 2.0;
  EXPECT_NEAR(trainer.first[1 * kDim + 1], w, 1e-6);
}

// Lazy noise drawn step by step is the noise of eager DP-SGD, whenever rows are settled.
TEST(NoiseEngine, LateNoiseEqualsEagerNoise) {
  OtherTrainer eager({.policy = NoisePolicy::every_row, .decays = true, .fixed_seed = 7});
  OtherTrainer lazy({.policy = NoisePolicy::lazy_each_step, .decays = true, .fixed_seed = 7});
  StepRule rule = kRule;
  for (int t = 1; t <= 9; ++t) {
    rule.learning_rate = 0.5 / t;
    rule.weight_decay = 0.01 * t;
    eager.step(rule);
    lazy.step(rule);
    const std::vector<RowId> read = {RowId{t % 6}, 2, 2};
    lazy.engine.settle(1, read);
  }
  EXPECT_FALSE(lazy.engine.all_settled());
  lazy.engine.settle_all();
  EXPECT_TRUE(lazy.engine.all_settled());
  for (std::size_t i = 0; i < eager.first.size(); ++i) {
    EXPECT_NEAR(eager.first[i], lazy.first[i], 1e-5 * (1.0 + std::abs(eager.first[i])));
    EXPECT_NEAR(eager.second[i], lazy.second[i], 1e-5 * (1.0 + std::abs(eager.second[i])));
  }
}

// 80,000 weights that no gradient reached, after two steps: their variance is known. The variance
// of n normals is within 5 sqrt(2 / n) of 1 but once in a million; a std that is 5% off is not.
TEST(NoiseEngine, AggregatedNoiseHasTheVarianceOfAllSteps) {
  OtherTrainer trainer({.fixed_seed = 11}, 20'000);
  trainer.step(kRule);
  trainer.step(kRule);
  trainer.engine.settle_all();
  const double std_of_step = 0.5 * 1.5 * 2.0 / 8.0;
  const double expected = 2.0 * std_of_step * std_of_step;
  double sum = 0.0;
  for (const float w : trainer.second) sum += (w + 2.0) * (w + 2.0);
  const auto n = static_cast<double>(trainer.second.size());
  EXPECT_NEAR(sum / n / expected, 1.0, 5.0 * std::sqrt(2.0 / n));
}

TEST(NoiseEngine, TwoEnginesShareNoNoiseUnlessTheSeedIsFixed) {
  const auto noise = [](const EngineOptions& options) {
    OtherTrainer trainer(options);
    trainer.step(kRule);
    trainer.engine.settle_all();
    return trainer.second;
  };
  EXPECT_NE(noise({}), noise({}));
  EXPECT_EQ(noise({.fixed_seed = 3}), noise({.fixed_seed = 3}));
  EXPECT_NE(noise({.fixed_seed = 3}), noise({.fixed_seed = 4}));
}

TEST(NoiseEngine, ARepeatedRowCountsSquared) {
  const std::vector<RowId> ids = {1, 4, 4, 4};
  const std::vector<std::size_t> offsets = {0, 1, 4};
  const std::vector<float> values = {1, 2, 2, 0, 3, 0, 4, 0};
  std::vector<float> squared = {0.5f, 0.0f};
  add_squared_norms({ids, offsets, values}, squared);
  EXPECT_FLOAT_EQ(squared[0], 0.5f + 9.0f);
  EXPECT_FLOAT_EQ(squared[1], 9.0f * 25.0f);
}

TEST(NoiseEngine, RefusesWhatCannotBeAndChangesNothing) {
  OtherTrainer trainer({});
  const std::vector<float> was = trainer.first;
  const std::vector<RowId> outside = {6};
  const std::vector<float> values(kDim, 1.0f);
  const std::vector<BagGradients> gradients = {{outside, {}, values}, {}};
  EXPECT_THROW(trainer.engine.step(kRule, gradients), UserError);
  EXPECT_THROW(trainer.engine.settle(0, outside), UserError);
  EXPECT_THROW(trainer.engine.settle(2, {}), UserError);
  EXPECT_THROW(trainer.engine.step(kRule, std::vector<BagGradients>(1)), UserError);
  const std::vector<RowId> inside = {5};
  const std::vector<std::size_t> past = {0, 2};
  EXPECT_THROW(trainer.engine.step(kRule, std::vector<BagGradients>{{inside, past, values}, {}}),
               UserError);
  EXPECT_THROW(trainer.engine.step(kRule, std::vector<BagGradients>{{inside, {}, {}}, {}}),
               UserError);
  EXPECT_THROW(trainer.step(without_noise(0.1)), UserError);  // made without `decays`
  for (double StepRule::*field :
       {&StepRule::learning_rate, &StepRule::clip_norm, &StepRule::expected_batch}) {
    StepRule rule = kRule;
    rule.*field = -1.0;
    EXPECT_THROW(trainer.step(rule), UserError);
  }
  EXPECT_EQ(trainer.engine.steps(), 0u);
  EXPECT_EQ(trainer.first, was);

  std::vector<float> seven(7);
  const BorrowedTable ragged{seven, kDim};
  EXPECT_THROW(NoiseEngine({&ragged, 1}, {}), UserError);
  EXPECT_THROW(OtherTrainer({.noise_draws = 0}), UserError);
}

}  // namespace
}  // namespace lazydp
