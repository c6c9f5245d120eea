// Dense weights: gradient, decay and noise of the step at once.

#include "lazydp/noise/dense_update.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/normality.h"

namespace lazydp {
namespace {

TEST(DenseUpdate, WithoutNoiseIsPlainDescentWithDecay) {
  std::vector<float> weights(5000, 2.0f);
  const std::vector<float> gradient(5000, 3.0f);
  VarianceClock clock;
  const Step t = clock.open(0.1, 0.0, 0.9);
  update_dense(weights, gradient, t, clock, NoiseSource(Seed::fixed(1)));
  for (const float w : weights) EXPECT_NEAR(w, 0.9f * 2.0f - 0.1f * 3.0f, 1e-6f);
}

TEST(DenseUpdate, AddsNoiseOfTheStepsDeviation) {
  std::vector<float> weights(200'000, 0.0f);
  const std::vector<float> gradient(weights.size(), 0.0f);
  VarianceClock clock;
  const Step t = clock.open(0.1, 4.0, 1.0);
  update_dense(weights, gradient, t, clock, NoiseSource(Seed::fixed(1)));
  oracle::Normality sample;
  for (float& w : weights) w /= 0.4f;
  sample.add(weights);
  EXPECT_EQ(sample.objections(), "");
}

TEST(DenseUpdate, StepsDrawDifferentNoise) {
  std::vector<float> first(3000, 0.0f), second(3000, 0.0f);
  const std::vector<float> gradient(3000, 0.0f);
  VarianceClock clock;
  const NoiseSource noise(Seed::fixed(1));
  update_dense(first, gradient, clock.open(1.0, 1.0, 1.0), clock, noise);
  update_dense(second, gradient, clock.open(1.0, 1.0, 1.0), clock, noise);
  int equal = 0;
  for (std::size_t i = 0; i < first.size(); ++i) equal += first[i] == second[i];
  EXPECT_LE(equal, 1);
}

}  // namespace
}  // namespace lazydp
