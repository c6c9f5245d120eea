#pragma once
// What an attacker's scores prove: a lower bound on the privacy loss of a mechanism, with
// confidence.

#include <cstdint>
#include <span>
#include <vector>

namespace lazydp {

// The largest probability under which `hits` or fewer hits in `trials` still happen with
// probability `alpha`: above the true one with confidence 1 - alpha (Clopper, Pearson 1934).
double binomial_upper_bound(std::uint64_t hits, std::uint64_t trials, double alpha);

// Scores of independent runs without and with the example in question. A larger score should mean
// "with".
struct AttackScores {
  std::vector<double> without;
  std::vector<double> with;
};

struct AttackEvidence {
  double threshold = 0.0;  // "with" is said above it
  std::uint64_t false_alarms = 0;
  std::uint64_t misses = 0;
  std::uint64_t runs_without = 0;
  std::uint64_t runs_with = 0;
  double mu =
      0.0;  // the mechanism is not mu'-GDP for any mu' below this, with the confidence asked
};

// The evidence of a threshold that was chosen without looking at `scores`; wrong with probability
// `alpha` at most. There is at least one score of each kind.
AttackEvidence evidence(const AttackScores& scores, double threshold, double alpha);

// The evidence of the threshold that does best on `scores`: for choosing it, not to be believed.
AttackEvidence best_threshold(const AttackScores& scores, double alpha);

}  // namespace lazydp
