#include "lazydp/privacy/attack_evidence.h"

#include <algorithm>
#include <cmath>

#include "lazydp/privacy/binomial.h"

namespace lazydp {
namespace {

constexpr int kThresholds = 400;

// Returns whether two rates that are bounded at level alpha contradict the claim.
bool refutes(const AttackEvidence& found, const TradeOff& claim, double alpha) {
  const double false_alarm =
      binomial_upper_bound(found.false_alarms, found.runs_without, alpha / 2);
  const double miss = binomial_upper_bound(found.misses, found.runs_with, alpha / 2);
  return claim.least_miss(false_alarm) > miss;
}

}  // namespace

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

double p_value(const AttackEvidence& evidence, const TradeOff& claim) {
  if (!refutes(evidence, claim, 1.0)) return 1;
  double low = std::log(1e-12), high = 0;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (refutes(evidence, claim, std::exp(middle)) ? high : low) = middle;
  }
  return std::exp(high);
}

// Each of the two counts exceeds the value tried here with probability (1 - power) / 2 at most.
std::optional<std::uint64_t> runs_needed(const TradeOff& claim, const TradeOff& truth, double alpha,
                                         double power) {
  const double level = (1 + power) / 2;
  const auto enough = [&](std::uint64_t runs) {
    for (double rate = 0.5; rate > 0.2 / static_cast<double>(runs); rate *= 0.9) {
      const AttackEvidence usual{.false_alarms = binomial_quantile(level, runs, rate),
                                 .misses = binomial_quantile(level, runs, truth.least_miss(rate)),
                                 .runs_without = runs,
                                 .runs_with = runs};
      if (refutes(usual, claim, alpha)) return true;
    }
    return false;
  };
  std::uint64_t high = 1;
  while (!enough(high)) {
    if (high >= kMostRuns) return {};
    high *= 2;
  }
  std::uint64_t low = high / 2;
  while (high - low > 1 + high / 64) {
    const std::uint64_t middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace lazydp
