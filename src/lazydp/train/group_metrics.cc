#include "lazydp/train/group_metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace lazydp {
namespace {

// The examples of one group.
struct Group {
  std::vector<float> scores;
  std::vector<float> labels;

  std::size_t size() const { return scores.size(); }
  std::size_t positives() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(labels, [](float label) { return label > 0.5f; }));
  }
};

// Returns what the examples in places `from` to `to`, counted from 0, would gain if all were
// positive.
double gain(std::size_t from, std::size_t to) {
  double sum = 0.0;
  for (std::size_t place = from; place < to; ++place) {
    sum += 1.0 / std::log2(static_cast<double>(place) + 2.0);
  }
  return sum;
}

// What the best-scored examples of a group hold.
struct Best {
  double gain = 0.0;
  double positives = 0.0;
};

// Each of the examples with one score is in each of their places with the same probability.
Best best_of(const Group& group, std::size_t cutoff) {
  std::vector<std::size_t> order(group.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::greater{}, [&](std::size_t i) { return group.scores[i]; });
  Best best;
  for (std::size_t begin = 0; begin < std::min(cutoff, order.size());) {
    std::size_t end = begin;
    double positives = 0.0;
    for (const float score = group.scores[order[begin]];
         end < order.size() && group.scores[order[end]] == score; ++end) {
      if (group.labels[order[end]] > 0.5f) positives += 1.0;
    }
    const double share = positives / static_cast<double>(end - begin);
    const std::size_t shown = std::min(end, cutoff);
    best.gain += share * gain(begin, shown);
    best.positives += share * static_cast<double>(shown - begin);
    begin = end;
  }
  return best;
}

}  // namespace

GroupMetrics group_metrics(std::span<const float> scores, std::span<const float> labels,
                           std::span<const std::uint64_t> groups, std::size_t cutoff) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t i) { return groups[i] == 0; });
  std::ranges::sort(order, {}, [&](std::size_t i) { return groups[i]; });
  double examples = 0.0;
  double counted = 0.0;
  GroupMetrics sums = {.area = 0.0, .ndcg = 0.0, .recall = 0.0};
  Group group;
  for (std::size_t i = 0; i < order.size();) {
    group.scores.clear();
    group.labels.clear();
    for (const std::uint64_t name = groups[order[i]]; i < order.size() && groups[order[i]] == name;
         ++i) {
      if (std::isnan(scores[order[i]])) return {};
      group.scores.push_back(scores[order[i]]);
      group.labels.push_back(labels[order[i]]);
    }
    const std::size_t positives = group.positives();
    if (positives == 0 || positives == group.size()) continue;
    const auto size = static_cast<double>(group.size());
    sums.area += size * area_under_curve(group.scores, group.labels);
    examples += size;
    const Best best = best_of(group, cutoff);
    sums.ndcg += best.gain / gain(0, std::min(cutoff, positives));
    sums.recall += best.positives / static_cast<double>(positives);
    counted += 1.0;
  }
  if (counted == 0.0) return {};
  return {
      .area = sums.area / examples, .ndcg = sums.ndcg / counted, .recall = sums.recall / counted};
}

}  // namespace lazydp
