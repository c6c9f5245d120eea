#include "lazydp/privacy/attack_evidence.h"

#include <algorithm>
#include <cmath>

#include "lazydp/base/error.h"
#include "lazydp/privacy/gaussian_dp.h"

namespace lazydp {
namespace {

constexpr int kThresholds = 400;

// P(Binomial(trials, p) <= hits) where hits < trials p: terms fall from the largest, at `hits`.
double lower_tail(std::uint64_t hits, std::uint64_t trials, double p) {
  const auto n = static_cast<double>(trials);
  auto k = static_cast<double>(hits);
  double term = std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) +
                         k * std::log(p) + (n - k) * std::log1p(-p));
  double sum = term;
  for (; k > 0 && term > sum * 1e-17; --k) {
    term *= k * (1 - p) / ((n - k + 1) * p);
    sum += term;
  }
  return sum;
}

}  // namespace

// Found by halving on the binomial sum itself: a few hundred terms, and no special function.
double binomial_upper_bound(std::uint64_t hits, std::uint64_t trials, double alpha) {
  check(hits <= trials && trials > 0, "hits among trials");
  if (hits == trials) return 1;
  double low = static_cast<double>(hits) / static_cast<double>(trials);
  double high = 1;
  for (int i = 0; i < 60 && high - low > 1e-15; ++i) {
    const double middle = (low + high) / 2;
    (lower_tail(hits, trials, middle) > alpha ? low : high) = middle;
  }
  return high;
}

AttackEvidence evidence(const AttackScores& scores, double threshold, double alpha) {
  const auto above = [&](double score) { return score > threshold; };
  AttackEvidence found{.threshold = threshold,
                       .runs_without = scores.without.size(),
                       .runs_with = scores.with.size()};
  found.false_alarms = static_cast<std::uint64_t>(std::ranges::count_if(scores.without, above));
  found.misses =
      found.runs_with - static_cast<std::uint64_t>(std::ranges::count_if(scores.with, above));
  // Each of the two bounds may fail with half of alpha.
  found.mu = gaussian_mu(binomial_upper_bound(found.false_alarms, found.runs_without, alpha / 2),
                         binomial_upper_bound(found.misses, found.runs_with, alpha / 2));
  return found;
}

AttackEvidence best_threshold(const AttackScores& scores, double alpha) {
  std::vector<double> all = scores.without;
  all.insert(all.end(), scores.with.begin(), scores.with.end());
  std::ranges::sort(all);
  AttackEvidence best;
  for (int i = 0; i < kThresholds; ++i) {
    const std::size_t at = (all.size() - 1) * static_cast<std::size_t>(i) / kThresholds;
    if (i > 0 && all[at] == best.threshold) continue;
    const AttackEvidence found = evidence(scores, all[at], alpha);
    if (i == 0 || found.mu > best.mu) best = found;
  }
  return best;
}

}  // namespace lazydp
