#pragma once
// Evidence from an attacker's scores: a lower bound on a mechanism's privacy loss, with confidence.

#include <cstdint>
#include <optional>
#include <vector>

#include "lazydp/privacy/trade_off.h"

namespace lazydp {

// Scores of independent runs without and with the example in question. A larger score should mean
// "with".
struct AttackScores {
  std::vector<double> without;
  std::vector<double> with;
};

struct AttackEvidence {
  double threshold = 0.0;  // the attacker answers "with" above it
  std::uint64_t false_alarms = 0;
  std::uint64_t misses = 0;
  std::uint64_t runs_without = 0;
  std::uint64_t runs_with = 0;
  double mu =
      0.0;  // the mechanism is not mu'-GDP for any mu' below this, with the confidence asked
};

// Returns the evidence of a threshold that was chosen without looking at `scores`; wrong with
// probability `alpha` at most. There must be at least one score of each kind.
AttackEvidence evidence(const AttackScores& scores, double threshold, double alpha);

// Returns the evidence of the threshold that does best on `scores`: for choosing a threshold; the
// evidence itself is not valid.
AttackEvidence best_threshold(const AttackScores& scores, double alpha);

// Returns the smallest alpha at which these counts contradict `claim`: a p-value. Both rates are
// bounded from above, each with half of alpha, and no attack on a mechanism that satisfies the
// claim achieves both.
double p_value(const AttackEvidence& evidence, const TradeOff& claim);

inline constexpr std::uint64_t kMostRuns = 100'000'000;

// Returns how many runs of each kind refute `claim` at `alpha` with probability `power` at least,
// if the mechanism is really `truth` and the attack is perfect; nothing if kMostRuns are too few.
std::optional<std::uint64_t> runs_needed(const TradeOff& claim, const TradeOff& truth, double alpha,
                                         double power);

}  // namespace lazydp
