#pragma once
// How good scores are, given what happened.

#include <cstdint>
#include <limits>
#include <span>

namespace lazydp {

// Computed from data: as secret as the data is.
struct Metrics {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  double auc = kNone;      // NaN when all labels are equal
  double logloss = kNone;  // mean
  // The log-loss over that of always saying the share of positives: below 1 is better than knowing
  // nothing but that share. NaN when all labels are equal.
  double normalised_entropy = kNone;
  double calibration = kNone;  // positives expected by the scores over those there were
  std::uint64_t examples = 0;
};

// Of a score for each label; equal scores count half. Exact. NaN if a score is NaN.
double area_under_curve(std::span<const float> scores, std::span<const float> labels);

// Of logits: a score is 1 / (1 + exp(-logit)).
Metrics metrics_of(std::span<const float> logits, std::span<const float> labels);

// What a logit says in [0, 1].
double probability(double logit);

}  // namespace lazydp
