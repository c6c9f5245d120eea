#pragma once
// Measures how well scores order the examples of each group, a user's perhaps.

#include <cstddef>
#include <cstdint>
#include <span>

#include "lazydp/train/metrics.h"

namespace lazydp {

// Means over the groups that have both labels: in no other is there anything to order. An example
// without a group (0) does not count. NaN if no group counts, or if a score is NaN.
struct GroupMetrics {
  // The area under the ROC curve, weighted by the groups' examples.
  double area = Metrics::kNone;
  // Of the examples that score best, as many as the cutoff, each group weighing the same: the
  // discounted cumulative gain over the best possible one, and the share of all positives that are
  // among them. Among equal scores every order is equally likely: both are expectations over it.
  double ndcg = Metrics::kNone;
  double recall = Metrics::kNone;
};

GroupMetrics group_metrics(std::span<const float> scores, std::span<const float> labels,
                           std::span<const std::uint64_t> groups, std::size_t cutoff);

}  // namespace lazydp
