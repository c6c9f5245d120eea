#include "lazydp/train/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace lazydp {
namespace {

// Takes no difference of large numbers, however sure the model is.
double log_loss(double logit, double label) {
  return std::max(logit, 0.0) - logit * label + std::log1p(std::exp(-std::abs(logit)));
}

// Returns the log-loss of always predicting `share`, when that is the share of positives.
double entropy(double share) {
  return -share * std::log(share) - (1.0 - share) * std::log1p(-share);
}

}  // namespace

double probability(double logit) {
  return 1.0 / (1.0 + std::exp(-logit));
}

// Computes the Mann-Whitney statistic: the share of (positive, negative) pairs in the right order.
double area_under_curve(std::span<const float> scores, std::span<const float> labels) {
  const bool any_nan = std::ranges::any_of(scores, [](float score) { return std::isnan(score); });
  if (any_nan) return Metrics::kNone;  // NaN has no place in an order
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return scores[i]; });
  double negatives = 0.0;
  double right = 0.0;
  for (std::size_t i = 0; i < order.size();) {
    double positives_here = 0.0;
    double negatives_here = 0.0;
    const float score = scores[order[i]];
    for (; i < order.size() && scores[order[i]] == score; ++i) {
      (labels[order[i]] > 0.5f ? positives_here : negatives_here) += 1.0;
    }
    right += positives_here * (negatives + 0.5 * negatives_here);
    negatives += negatives_here;
  }
  const double positives = static_cast<double>(scores.size()) - negatives;
  return positives > 0.0 && negatives > 0.0 ? right / (positives * negatives) : Metrics::kNone;
}

Metrics metrics_of(std::span<const float> logits, std::span<const float> labels,
                   double positive_weight) {
  if (logits.empty()) return {};
  double loss = 0.0;
  double expected = 0.0;
  double positives = 0.0;
  double count = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double weight = labels[i] > 0.5f ? positive_weight : 1.0;
    loss += weight * log_loss(logits[i], labels[i]);
    expected += weight * probability(logits[i]);
    positives += weight * labels[i];
    count += weight;
  }
  const bool mixed = positives > 0.0 && positives < count;
  return {.auc = area_under_curve(logits, labels),
          .logloss = loss / count,
          .normalised_entropy = mixed ? loss / count / entropy(positives / count) : Metrics::kNone,
          .calibration = positives > 0.0 ? expected / positives : Metrics::kNone,
          .examples = logits.size()};
}

}  // namespace lazydp
