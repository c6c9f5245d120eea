// Metrics against their definitions, written out.

#include "lazydp/train/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include "lazydp/train/group_metrics.h"

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
  EXPECT_NEAR(group_metrics(scores, labels, groups, 10).area, sum / weight, 1e-12);
  const std::vector<std::uint64_t> none(500, 0);
  EXPECT_TRUE(std::isnan(group_metrics(scores, labels, none, 10).area));
}

// What NDCG and recall at a cutoff are on average over all orders of equal scores, by trying them.
GroupMetrics by_all_orders(std::vector<float> scores, const std::vector<float>& labels,
                           std::size_t cutoff) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  double orders = 0, positives = 0, ideal = 0;
  for (const float label : labels) positives += label;
  for (std::size_t k = 0; k < cutoff && k < positives; ++k) ideal += 1 / std::log2(k + 2.0);
  GroupMetrics sums{.area = 0, .ndcg = 0, .recall = 0};
  do {
    const bool sorted =
        std::ranges::is_sorted(order, std::greater{}, [&](std::size_t i) { return scores[i]; });
    if (!sorted) continue;
    ++orders;
    for (std::size_t k = 0; k < std::min(cutoff, order.size()); ++k) {
      sums.ndcg += labels[order[k]] / std::log2(k + 2.0) / ideal;
      sums.recall += labels[order[k]] / positives;
    }
  } while (std::ranges::next_permutation(order).found);
  return {.area = 0, .ndcg = sums.ndcg / orders, .recall = sums.recall / orders};
}

TEST(Metrics, OfTheBestScoredAreMeansOverGroupsAndOverOrdersOfEqualScores) {
  std::mt19937 rng(3);
  for (const std::size_t cutoff : {1, 2, 3, 5, 20}) {
    std::vector<float> scores, labels;
    std::vector<std::uint64_t> groups;
    double ndcg = 0, recall = 0, counted = 0;
    for (std::uint64_t group = 1; group <= 12; ++group) {
      std::vector<float> of_scores, of_labels;
      for (std::size_t i = 0; i < 2 + rng() % 5; ++i) {
        of_scores.push_back(static_cast<float>(rng() % 3) / 2.0f);
        of_labels.push_back(static_cast<float>(rng() % 2));
        groups.push_back(group == 12 ? 0 : group);  // the last are in no group
      }
      scores.insert(scores.end(), of_scores.begin(), of_scores.end());
      labels.insert(labels.end(), of_labels.begin(), of_labels.end());
      if (group == 12 || std::ranges::count(of_labels, of_labels[0]) == std::ssize(of_labels)) {
        continue;  // there is nothing to order
      }
      const GroupMetrics expected = by_all_orders(of_scores, of_labels, cutoff);
      ndcg += expected.ndcg;
      recall += expected.recall;
      ++counted;
    }
    const GroupMetrics found = group_metrics(scores, labels, groups, cutoff);
    ASSERT_GT(counted, 3);
    EXPECT_NEAR(found.ndcg, ndcg / counted, 1e-12) << cutoff;
    EXPECT_NEAR(found.recall, recall / counted, 1e-12) << cutoff;
  }
}

TEST(Metrics, CountAPositiveAsSoManyExamples) {
  const std::vector<float> logits = {0.5f, -1.0f, 2.0f, -0.3f, 0.1f};
  const std::vector<float> labels = {1, 0, 1, 0, 0};
  std::vector<float> more_logits = logits, more_labels = labels;
  for (const std::size_t i : {0, 2}) {
    for (int again = 1; again < 3; ++again) {
      more_logits.push_back(logits[i]);
      more_labels.push_back(1);
    }
  }
  const Metrics weighted = metrics_of(logits, labels, 3);
  const Metrics repeated = metrics_of(more_logits, more_labels);
  EXPECT_NEAR(weighted.logloss, repeated.logloss, 1e-12);
  EXPECT_NEAR(weighted.normalised_entropy, repeated.normalised_entropy, 1e-12);
  EXPECT_NEAR(weighted.calibration, repeated.calibration, 1e-12);
  EXPECT_DOUBLE_EQ(weighted.auc, repeated.auc);
  EXPECT_EQ(weighted.examples, 5u);
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
