// The score of a candidate: what one unit can move it by, and its noise.

#include "lazydp/train/noisy_score.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace lazydp {
namespace {

// Examples whose logit is their first dense feature.
class Told final : public Dataset {
 public:
  Told(std::vector<float> logits, std::vector<float> labels)
      : logits_(std::move(logits)), labels_(std::move(labels)) {}

  std::uint64_t size() const override { return logits_.size(); }
  std::size_t dense_features() const override { return 1; }
  std::vector<RowId> table_rows() const override { return {}; }
  void read(std::span<const ExampleId> examples, Batch& batch) const override {
    batch.size = examples.size();
    batch.labels.clear();
    now_.clear();
    for (const ExampleId i : examples) {
      batch.labels.push_back(labels_[i]);
      now_.push_back(logits_[i]);
    }
  }
  Scorer scorer() const {
    return [this](const Batch&) { return std::span<const float>(now_); };
  }

 private:
  std::vector<float> logits_, labels_;
  mutable std::vector<float> now_;
};

TEST(ClippedScore, IsMinusTheMeanOfClippedLosses) {
  const Told told({0.0f, 2.0f, -50.0f}, {1.0f, 0.0f, 1.0f});
  const double expected = -(std::log(2.0) + std::log1p(std::exp(2.0)) + 4.0) / 3.0;
  EXPECT_NEAR(clipped_score(told.scorer(), {told}, 4.0), expected, 1e-6);
}

TEST(ClippedScore, IsFiniteWhateverTheModelSays) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const Told told({kNan, kInf, -kInf, kInf}, {1.0f, 0.0f, 1.0f, 1.0f});
  const double score = clipped_score(told.scorer(), {told}, 4.0);
  EXPECT_GE(score, -4.0);
  EXPECT_LE(score, -3.0);
}

// By the public divisor: the neighbour has one example less, its sum is divided by the same number.
TEST(ClippedScore, MovesByNoMoreThanItsSensitivity) {
  const ScoreMechanism mechanism{.bound = 3.0, .noise_multiplier = 1.0};
  std::vector<float> logits(5000, 0.5f);
  std::vector<float> labels(5000, 1.0f);
  logits[4999] = -1e30f;  // as wrong as can be
  const Told with(logits, labels);
  logits.pop_back();
  labels.pop_back();
  const Told without(logits, labels);
  const double sum = 5000 * clipped_score(with.scorer(), {with}, mechanism.bound);
  const double less = 4999 * clipped_score(without.scorer(), {without}, mechanism.bound);
  EXPECT_NEAR(std::abs(sum - less) / 5000, mechanism.sensitivity(5000), 1e-12);
}

TEST(ClippedScore, AUnitWithManyExamplesCountsOnce) {
  std::vector<float> logits = {1.0f, 1.0f};
  std::vector<std::uint64_t> keys = {7, 8};
  for (int i = 0; i < 98; ++i) {
    logits.push_back(-1e30f);
    keys.push_back(9);
  }
  const Told told(logits, std::vector<float>(100, 1.0f));
  const PrivacyUnits units(keys);
  const double good = std::log1p(std::exp(-1.0));
  EXPECT_NEAR(clipped_score(told.scorer(), {told, &units}, 4.0), -(2 * good + 4.0) / 3, 1e-6);
}

// 20,000 draws: mean and variance are off by five standard errors once in a million.
TEST(NoisyScore, HasTheNoiseThatIsPaidFor) {
  const Told told({0.0f, 0.0f}, {1.0f, 0.0f});
  const ScoreMechanism mechanism{.bound = 4.0, .noise_multiplier = 3.0};
  const double clean = clipped_score(told.scorer(), {told}, 4.0);
  constexpr int kDraws = 20'000;
  double sum = 0;
  double squares = 0;
  for (Step i = 1; i <= kDraws; ++i) {
    RandomStream random(Seed::fixed(5), Purpose::selection, 2, i);
    const double noise = noisy_score(told.scorer(), {told}, mechanism, random) - clean;
    sum += noise;
    squares += noise * noise;
  }
  const double std = 3.0 * 4.0 / 2.0;
  EXPECT_NEAR(sum / kDraws, 0.0, 5 * std / std::sqrt(kDraws));
  EXPECT_NEAR(squares / kDraws / (std * std), 1.0, 5 * std::sqrt(2.0 / kDraws));
}

}  // namespace
}  // namespace lazydp
