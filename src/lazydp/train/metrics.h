#pragma once
// Measures how good scores are, given the labels.

#include <cstdint>
#include <limits>
#include <span>

namespace lazydp {

// Computed from data: as secret as the data is.
struct Metrics {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  double auc = kNone;   // NaN when all labels are equal
  double gauc = kNone;  // within groups; NaN when nothing was grouped, or no group has both labels
  double ndcg = kNone;  // of the best-scored of each group, as many as the cutoff; NaN likewise
  double recall = kNone;  // share of a group's positives among these
  std::uint64_t cutoff = 0;
  double logloss = kNone;  // mean
  // The log-loss over that of always predicting the share of positives: below 1 is better than
  // knowing nothing but that share. NaN when all labels are equal.
  double normalised_entropy = kNone;
  double calibration = kNone;  // positives expected by the scores over actual positives
  std::uint64_t examples = 0;
};

// Computes the area under the ROC curve exactly, from a score for each label; equal scores count
// half. NaN if a score is NaN.
double area_under_curve(std::span<const float> scores, std::span<const float> labels);

// Computes the metrics of logits: a score is 1 / (1 + exp(-logit)). In log-loss, normalised entropy
// and calibration a positive counts as so many examples.
Metrics metrics_of(std::span<const float> logits, std::span<const float> labels,
                   double positive_weight = 1.0);

// Returns a logit's probability, in [0, 1].
double probability(double logit);

}  // namespace lazydp
