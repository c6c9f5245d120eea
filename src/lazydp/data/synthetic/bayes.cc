#include "lazydp/data/synthetic/bayes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace lazydp {
namespace {

// -p log p, which is 0 at 0.
double surprise(double p) {
  return p > 0.0 ? -p * std::log(p) : 0.0;
}

}  // namespace

// From the least to the most probable, each example is a positive with weight p, above all the
// negatives met so far. Equal examples are met together. No example is paired with itself.
BayesScores bayes_scores(std::span<const double> probabilities) {
  std::vector<double> sorted(probabilities.begin(), probabilities.end());
  std::sort(sorted.begin(), sorted.end());
  double positives = 0.0;
  double negatives = 0.0;
  double with_itself = 0.0;
  double right = 0.0;
  double loss = 0.0;
  for (std::size_t i = 0; i < sorted.size();) {
    const double p = sorted[i];
    std::size_t end = i;
    while (end < sorted.size() && sorted[end] == p) ++end;
    const auto equal = static_cast<double>(end - i);
    right += equal * p * (negatives + 0.5 * (equal - 1.0) * (1.0 - p));
    positives += equal * p;
    negatives += equal * (1.0 - p);
    with_itself += equal * p * (1.0 - p);
    loss += equal * (surprise(p) + surprise(1.0 - p));
    i = end;
  }
  return {.auc = right / (positives * negatives - with_itself),
          .logloss = loss / static_cast<double>(sorted.size())};
}

}  // namespace lazydp
