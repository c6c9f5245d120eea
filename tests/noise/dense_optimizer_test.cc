// Dense weights receive the gradient and the noise of a step at once, by each rule.

#include "lazydp/noise/dense_optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/support/normality.h"

namespace lazydp {
namespace {

constexpr DenseStep kQuiet = {.rate = 0.3, .divisor = 4.0, .noise_std = 0.0};

// Each rule as its paper writes it, in double, one weight at a time.
struct PlainWeight {
  double w, m = 0.0, v = 0.0;

  void step(DenseRule rule, double g, double rate, int t) {
    switch (rule) {
      case DenseRule::sgd: w -= rate * g; break;
      case DenseRule::momentum:
        m = 0.9 * m + g;
        w -= rate * m;
        break;
      case DenseRule::adam: {
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        const double mean = m / (1.0 - std::pow(0.9, t));
        const double square = v / (1.0 - std::pow(0.999, t));
        w -= rate * mean / (std::sqrt(square) + 1e-8);
        break;
      }
      case DenseRule::adagrad:
        v += g * g;
        w -= rate * g / (std::sqrt(v) + 1e-10);
        break;
    }
  }
};

class EachRule : public testing::TestWithParam<DenseRule> {};

// The gradients have their noise: 2,500 weights are three rows of noise, the last one short.
TEST_P(EachRule, MovesWeightsAsItsPaperSays) {
  constexpr std::size_t kWeights = 2500;
  const DenseStep step = {.rate = 0.02, .divisor = 4.0, .noise_std = 0.7};
  const NoiseSource noise(Seed::fixed(1));
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  DenseOptimizer optimizer(GetParam(), kWeights);
  std::vector<float> weights(kWeights);
  for (float& w : weights) w = normal(rng);
  std::vector<PlainWeight> plain;
  plain.reserve(weights.size());
  for (const float w : weights) plain.push_back({w});

  for (int t = 1; t <= 30; ++t) {
    std::vector<float> gradient(kWeights);
    for (float& g : gradient) g = 3.0f * normal(rng);
    optimizer.update(weights, gradient, static_cast<Step>(t), step, noise);
    for (std::size_t first = 0; first < kWeights; first += 1024) {
      std::vector<float> z(std::min<std::size_t>(1024, kWeights - first), 0.0f);
      const NoisyRow row = {z.data(), first / 1024, 1.0f, 1.0f};
      noise.dense(static_cast<Step>(t)).add({&row, 1}, z.size());
      for (std::size_t j = 0; j < z.size(); ++j) {
        const double mean = (gradient[first + j] - 0.7 * z[j]) / 4.0;
        plain[first + j].step(GetParam(), mean, 0.02, t);
      }
    }
  }
  for (std::size_t i = 0; i < kWeights; ++i) EXPECT_NEAR(weights[i], plain[i].w, 2e-5) << i;
}

// All that a rule knows is in its state: a second optimizer that takes it over continues as the
// first.
TEST_P(EachRule, GoesOnFromItsStateBitForBit) {
  constexpr std::size_t kWeights = 1500;
  const DenseStep step = {.rate = 0.02, .divisor = 4.0, .noise_std = 0.7};
  const NoiseSource noise(Seed::fixed(1));
  const std::vector<float> gradient(kWeights, 0.25f);
  DenseOptimizer whole(GetParam(), kWeights);
  std::vector<float> weights(kWeights, 1.0f);
  for (Step t = 1; t <= 5; ++t) whole.update(weights, gradient, t, step, noise);

  DenseOptimizer second(GetParam(), kWeights);
  std::vector<float> copy = weights;
  const auto from = whole.state();
  const auto to = second.state();
  ASSERT_EQ(from.size(), to.size());
  for (std::size_t i = 0; i < from.size(); ++i) std::ranges::copy(from[i], to[i].begin());
  second.restore_steps(whole.steps());
  for (Step t = 6; t <= 9; ++t) {
    whole.update(weights, gradient, t, step, noise);
    second.update(copy, gradient, t, step, noise);
  }
  EXPECT_EQ(copy, weights);
}

INSTANTIATE_TEST_SUITE_P(Rules, EachRule,
                         testing::Values(DenseRule::sgd, DenseRule::momentum, DenseRule::adam,
                                         DenseRule::adagrad),
                         [](const auto& rule) { return std::string(dense_rule_name(rule.param)); });

// However small the learning rate, what the rule remembers has seen the noise: a schedule may begin
// or end at zero.
TEST(DenseOptimizer, RemembersNothingThatHasNoNoise) {
  for (const DenseRule rule : {DenseRule::momentum, DenseRule::adam, DenseRule::adagrad}) {
    DenseOptimizer optimizer(rule, 4000);
    std::vector<float> weights(4000, 1.0f);
    const std::vector<float> gradient(4000, 0.0f);
    optimizer.update(weights, gradient, 1, {.rate = 0.0, .divisor = 2.0, .noise_std = 1.0},
                     NoiseSource(Seed::fixed(1)));
    for (const auto state : optimizer.state()) {
      EXPECT_LE(std::ranges::count(state, 0.0f), 1) << dense_rule_name(rule);
    }
    for (const float w : weights) EXPECT_EQ(w, 1.0f);
  }
}

TEST(DenseOptimizer, AddsNoiseOfTheStepsDeviation) {
  std::vector<float> weights(200'000, 0.0f);
  const std::vector<float> gradient(weights.size(), 0.0f);
  DenseOptimizer optimizer(DenseRule::sgd, weights.size());
  optimizer.update(weights, gradient, 1, {.rate = 0.4, .divisor = 8.0, .noise_std = 5.0},
                   NoiseSource(Seed::fixed(1)));
  oracle::Normality sample;
  for (float& w : weights) w /= 0.25f;
  sample.add(weights);
  EXPECT_EQ(sample.objections(), "");
}

TEST(DenseOptimizer, StepsDrawDifferentNoise) {
  const std::vector<float> gradient(3000, 0.0f);
  const NoiseSource noise(Seed::fixed(1));
  std::vector<float> first(3000, 0.0f), second(3000, 0.0f);
  DenseOptimizer optimizer(DenseRule::sgd, 3000);
  const DenseStep step = {.rate = 1.0, .divisor = 1.0, .noise_std = 1.0};
  optimizer.update(first, gradient, 1, step, noise);
  optimizer.update(second, gradient, 2, step, noise);
  int equal = 0;
  for (std::size_t i = 0; i < first.size(); ++i) equal += first[i] == second[i];
  EXPECT_LE(equal, 1);
}

TEST(DenseOptimizer, WithoutNoiseIsPlainDescent) {
  std::vector<float> weights(5000, 2.0f);
  const std::vector<float> gradient(5000, 3.0f);
  DenseOptimizer(DenseRule::sgd, 5000)
      .update(weights, gradient, 1, kQuiet, NoiseSource(Seed::fixed(1)));
  for (const float w : weights) EXPECT_NEAR(w, 2.0f - 0.3f * 3.0f / 4.0f, 1e-6f);
}

}  // namespace
}  // namespace lazydp
