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

// Computes the mean of the areas within groups, weighted by the groups' examples. A group whose
// labels are all equal does not count, nor does an example without a group (0). NaN if no group
// counts, or if a score is NaN.
double grouped_area_under_curve(std::span<const float> scores, std::span<const float> labels,
                                std::span<const std::uint64_t> groups);

// Computes the metrics of logits: a score is 1 / (1 + exp(-logit)).
Metrics metrics_of(std::span<const float> logits, std::span<const float> labels);

// Returns a logit's probability, in [0, 1].
double probability(double logit);

}  // namespace lazydp
