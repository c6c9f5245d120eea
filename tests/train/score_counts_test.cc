// The scaling that fits counts of scores best.

#include "lazydp/train/score_counts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "lazydp/model/loss.h"
#include "lazydp/random/stream.h"

namespace lazydp {
namespace {

// Counts of examples whose logits are spread normally, and whose labels follow the scaled ones.
ScoreCounts counts_of(const ScoreScaling& truth, double spread, int examples) {
  ScoreCounts counts;
  RandomStream random(Seed::fixed(1), Purpose::public_data, 0, 1);
  for (int i = 0; i < examples; ++i) {
    const auto logit = static_cast<float>(spread * random.normal());
    const double positive = sigmoid(truth.of(logit));
    counts.add(logit, 1.0f, positive);
    counts.add(logit, 0.0f, 1.0 - positive);
  }
  return counts;
}

TEST(ScoreCounts, FindTheScalingThatLabelsFollow) {
  for (const double scale : {0.05, 0.3, 1.0, 4.0}) {
    for (const double shift : {-2.0, 0.0, 0.7}) {
      // Labels that hardly depend on the logits, or wholly, would say little of the scale.
      const double spread = std::min(8.0, 1.0 / scale);
      const ScoreScaling found = counts_of({scale, shift}, spread, 100'000).best_scaling(0.0);
      EXPECT_NEAR(found.scale, scale, 0.03 * scale) << scale << ", " << shift;
      EXPECT_NEAR(found.shift, shift, 0.03) << scale << ", " << shift;
    }
  }
}

// As with 20,000 examples and an epsilon of one.
TEST(ScoreCounts, FindItUnderNoise) {
  constexpr double kNoise = 40.0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    ScoreCounts counts = counts_of({0.3, -0.5}, 4.0, 20'000);
    RandomStream random(Seed::fixed(seed), Purpose::public_data, 0, 2);
    for (double& cell : counts.cells()) cell += kNoise * random.normal();
    const ScoreScaling found = counts.best_scaling(kNoise);
    EXPECT_NEAR(found.scale, 0.3, 0.06) << seed;
    EXPECT_NEAR(found.shift, -0.5, 0.15) << seed;
  }
}

TEST(ScoreCounts, OfNothingButNoiseScaleByAboutOne) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    ScoreCounts counts;
    RandomStream random(Seed::fixed(seed), Purpose::public_data, 0, 3);
    for (double& cell : counts.cells()) cell += 10.0 * random.normal();
    const ScoreScaling found = counts.best_scaling(10.0);
    EXPECT_GT(found.scale, 0.5) << seed;
    EXPECT_LT(found.scale, 2.0) << seed;
    EXPECT_LT(std::fabs(found.shift), 1.0) << seed;
  }
}

TEST(ScoreCounts, KeepTheOrderOfScoresThatAreWrong) {
  EXPECT_GT(counts_of({-1.0, 0.0}, 2.0, 1000).best_scaling(0.0).scale, 0.0);
}

TEST(ScoreCounts, AreFiniteForLabelsThatAreAllAlike) {
  ScoreCounts counts;
  for (int i = 0; i < 1000; ++i) counts.add(3.0f, 1.0f, 1.0);
  const ScoreScaling found = counts.best_scaling(1.0);
  EXPECT_TRUE(std::isfinite(found.scale) && std::isfinite(found.shift));
  EXPECT_GT(found.of(3.0f), 0.0f);
}

// An example is in one cell, whatever its logit.
TEST(ScoreCounts, MoveByTheWeightOfAnExample) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float logit :
       {0.0f, 0.03f, -0.07f, 21.0f, 1e30f, -kInf, kInf, std::numeric_limits<float>::quiet_NaN()}) {
    ScoreCounts counts;
    counts.add(logit, 1.0f, 0.25);
    double sum = 0.0, squares = 0.0;
    for (const double cell : counts.cells()) {
      sum += cell;
      squares += cell * cell;
    }
    EXPECT_DOUBLE_EQ(sum, 0.25) << logit;
    EXPECT_DOUBLE_EQ(squares, 0.0625) << logit;
  }
}

}  // namespace
}  // namespace lazydp
