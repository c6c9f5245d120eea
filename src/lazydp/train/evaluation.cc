#include "lazydp/train/evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace lazydp {
namespace {

double log_loss(double logit, double label) {
  return std::max(logit, 0.0) - logit * label + std::log1p(std::exp(-std::abs(logit)));
}

}  // namespace

// The Mann-Whitney statistic: the share of (positive, negative) pairs in the right order.
double area_under_curve(std::span<const float> scores, std::span<const float> labels) {
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
  return positives > 0.0 && negatives > 0.0 ? right / (positives * negatives)
                                            : std::numeric_limits<double>::quiet_NaN();
}

Metrics evaluate(Trainer& trainer, const Dataset& dataset) {
  constexpr std::uint64_t kBatch = 4096;
  std::vector<float> scores;
  std::vector<float> labels;
  std::vector<ExampleId> examples;
  Batch batch;
  double loss = 0.0;
  for (std::uint64_t first = 0; first < dataset.size(); first += kBatch) {
    examples.resize(std::min(kBatch, dataset.size() - first));
    std::iota(examples.begin(), examples.end(), first);
    dataset.read(examples, batch);
    const std::span<const float> logits = trainer.predict(batch);
    for (std::size_t i = 0; i < batch.size; ++i) loss += log_loss(logits[i], batch.labels[i]);
    scores.insert(scores.end(), logits.begin(), logits.end());
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  }
  return {.auc = area_under_curve(scores, labels),
          .logloss = loss / static_cast<double>(std::max<std::size_t>(1, scores.size())),
          .examples = scores.size()};
}

}  // namespace lazydp
