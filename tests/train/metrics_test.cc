// Metrics against their definitions, written out.

#include "lazydp/train/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace lazydp {
namespace {

TEST(Metrics, TheAreaWithinGroupsIsTheMeanOfTheirAreasByExamples) {
  std::mt19937 rng(8);
  std::normal_distribution<float> normal;
  std::vector<float> scores(500), labels(500);
  std::vector<std::uint64_t> groups(500);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    groups[i] = rng() % 90;  // 0: none; some groups are small, and some have one label
    scores[i] = std::round(4.0f * normal(rng)) / 4.0f;
    labels[i] = groups[i] % 5 == 1 ? 1.0f : static_cast<float>(rng() % 3 == 0);
  }
  double sum = 0, weight = 0;
  for (std::uint64_t group = 1; group < 90; ++group) {
    double pairs = 0, right = 0, examples = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (groups[i] != group) continue;
      examples += 1;
      for (std::size_t j = 0; j < scores.size(); ++j) {
        if (groups[j] != group || labels[i] == 0 || labels[j] == 1) continue;
        pairs += 1;
        right += scores[i] > scores[j] ? 1.0 : scores[i] == scores[j] ? 0.5 : 0.0;
      }
    }
    if (pairs == 0) continue;
    sum += examples * right / pairs;
    weight += examples;
  }
  EXPECT_NEAR(grouped_area_under_curve(scores, labels, groups), sum / weight, 1e-12);
  const std::vector<std::uint64_t> none(500, 0);
  EXPECT_TRUE(std::isnan(grouped_area_under_curve(scores, labels, none)));
}

TEST(Metrics, AreWhatTheirDefinitionsSay) {
  std::mt19937 rng(4);
  std::normal_distribution<float> normal;
  std::vector<float> logits(700), labels(700);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    logits[i] = std::round(4.0f * normal(rng)) / 4.0f;  // with ties
    labels[i] = normal(rng) < 0.5f * logits[i] - 0.6f ? 1.0f : 0.0f;
  }
  double pairs = 0, right = 0, loss = 0, expected = 0, positives = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double p = 1.0 / (1.0 + std::exp(-double(logits[i])));
    loss -= labels[i] > 0 ? std::log(p) : std::log(1.0 - p);
    expected += p;
    positives += labels[i];
    for (std::size_t j = 0; j < logits.size(); ++j) {
      if (labels[i] == 0 || labels[j] == 1) continue;
      pairs += 1;
      right += logits[i] > logits[j] ? 1.0 : logits[i] == logits[j] ? 0.5 : 0.0;
    }
  }
  const double n = 700, share = positives / n;
  const double entropy = -share * std::log(share) - (1 - share) * std::log(1 - share);
  const Metrics metrics = metrics_of(logits, labels);
  EXPECT_NEAR(metrics.auc, right / pairs, 1e-12);
  EXPECT_NEAR(metrics.logloss, loss / n, 1e-12);
  EXPECT_NEAR(metrics.normalised_entropy, loss / n / entropy, 1e-12);
  EXPECT_NEAR(metrics.calibration, expected / positives, 1e-12);
  EXPECT_EQ(metrics.examples, 700u);
}

TEST(Metrics, OfSayingTheShareOfPositivesAreOne) {
  const std::vector<float> labels = {1, 0, 0, 0};
  const std::vector<float> logits(4, static_cast<float>(std::log(0.25 / 0.75)));
  const Metrics metrics = metrics_of(logits, labels);
  EXPECT_NEAR(metrics.normalised_entropy, 1.0, 1e-6);
  EXPECT_NEAR(metrics.calibration, 1.0, 1e-6);
  EXPECT_DOUBLE_EQ(metrics.auc, 0.5);
}

TEST(Metrics, AreNotNumbersWhereTheyMeanNothing) {
  const Metrics none = metrics_of({}, {});
  EXPECT_TRUE(std::isnan(none.logloss));
  EXPECT_EQ(none.examples, 0u);
  const Metrics negative = metrics_of(std::vector<float>{1, 2}, std::vector<float>{0, 0});
  EXPECT_TRUE(std::isnan(negative.auc));
  EXPECT_TRUE(std::isnan(negative.normalised_entropy));
  EXPECT_TRUE(std::isnan(negative.calibration));
  EXPECT_GT(negative.logloss, 1.0);
  // A model that diverged has no order to judge.
  std::vector<float> logits(1000, NAN), labels(1000, 0.0f);
  labels[3] = 1.0f;
  EXPECT_TRUE(std::isnan(metrics_of(logits, labels).auc));
}

TEST(Metrics, OfAModelThatIsTooSureStayFinite) {
  const Metrics metrics = metrics_of(std::vector<float>{200, -300}, std::vector<float>{0, 1});
  EXPECT_NEAR(metrics.logloss, 250.0, 1e-9);
}

}  // namespace
}  // namespace lazydp
