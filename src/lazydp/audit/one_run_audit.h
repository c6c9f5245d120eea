#pragma once
// Tries to break the claim of one training at full size: many canaries, each in or out by the toss
// of a coin, and an attacker that guesses from the released weights which were in.

#include <cstdint>
#include <optional>
#include <vector>

#include "lazydp/audit/audit.h"
#include "lazydp/data/dataset.h"
#include "lazydp/model/shape.h"
#include "lazydp/privacy/calibration.h"
#include "lazydp/privacy/one_run.h"

namespace lazydp {

struct OneRunAudit {
  Recipe recipe = kRecipes.back();
  Budget budget{.epsilon = 3.0, .delta = 1e-5};  // the noise is calibrated to it
  std::uint64_t canaries = 32'768;
  Step steps = 8;
  double sampling_rate = 1.0;   // below 1 a released model shows far less than the claim allows
  Schedule rate_schedule = {};  // multiplies the learning rates
  double alpha = 0.01;          // largest probability of calling a true claim broken
  std::optional<std::uint64_t> seed = {};  // fixed: the audit repeats

  // Throws UserError for a recipe without noise, or too few canaries for any proof.
  void validate() const;
};

// The values that the training will be judged by. Computed before it, and without data.
struct OneRunStakes {
  double noise_multiplier = 0.0;
  Ledger ledger = {};
  double stated_epsilon = 0.0;
  TradeOff claim;
  OneRunPlan plan;  // against half the noise, for an attack five sixths as strong as a perfect one
  // The number of canaries with which that attack is caught with probability kAuditPower; none:
  // more than kMostCanaries.
  std::optional<std::uint64_t> canaries_needed;
};
OneRunStakes one_run_stakes(const OneRunAudit& audit);

struct CanaryScores {
  std::vector<double> scores;
  std::vector<bool> in;
};

// Trains `shape` once on `base` and the canaries that are in, with this noise; for an honest audit
// it is that of the stakes. The attacker knows what audit.h says, and scores a canary by how far
// its rows lie in the direction in which it pulls them, lowest of all if they are as they were at
// the start.
CanaryScores train_with_canaries(const OneRunAudit& audit, double noise_multiplier,
                                 const Dataset& base, const ModelShape& shape);

struct OneRunFinding {
  OneRunGuesses guesses;
  double p_value = 1.0;  // under the claimed trade-off curve
  // Holds for any curve, at the budget's delta, with confidence 1 - alpha.
  double proven_epsilon = 0.0;
  Verdict verdict = Verdict::nothing;

  bool caught() const { return verdict == Verdict::broken; }
};
OneRunFinding judge(const OneRunAudit& audit, const OneRunStakes& stakes,
                    const CanaryScores& scores);

}  // namespace lazydp
