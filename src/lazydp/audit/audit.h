#pragma once
// Tries to break the claim: trains a tiny model thousands of times with and without one example,
// and lets an attacker guess from the released weights which it was.

#include <cstdint>
#include <optional>
#include <string_view>

#include "lazydp/audit/audited_run.h"
#include "lazydp/privacy/attack_evidence.h"
#include "lazydp/privacy/calibration.h"

namespace lazydp {

inline constexpr double kAuditPower = 0.9;  // probability with which an audit catches half the
                                            // noise, unless it reports that it cannot

struct AuditPlan {
  AuditedRun run = {};                           // its noise multiplier is replaced by the budget's
  Budget budget{.epsilon = 1.0, .delta = 1e-5};  // the noise is calibrated to it
  std::uint64_t runs = 20'000;                   // with the canary, and as many without
  double alpha = 1e-6;                     // largest probability of calling a true claim broken
  std::optional<std::uint64_t> seed = {};  // fixed: the audit repeats

  // Throws UserError for a recipe without noise, correlated noise of samples or persons, and so few
  // runs that no attack would prove anything.
  void validate() const;
};

// The values that the runs will be judged by. Computed before any of them, and without data.
struct AuditStakes {
  double noise_multiplier = 0.0;
  Ledger ledger = {};
  double stated_epsilon = 0.0;  // the accountant's epsilon for the ledger
  TradeOff claim;
  // The number of runs of each kind with which a perfect attack on the same mechanism with half its
  // noise is caught with probability kAuditPower; none: more than could ever be made.
  std::optional<std::uint64_t> runs_needed;
};
AuditStakes audit_stakes(const AuditPlan& plan);

enum class Verdict : std::uint8_t { stands, broken, nothing };

struct AuditFinding {
  double stated_epsilon = 0.0;
  double proven_epsilon = 0.0;   // a lower bound at the same delta, with confidence 1 - alpha
  double p_value = 1.0;          // under the claimed trade-off curve
  std::string_view attack = {};  // in words
  AttackEvidence evidence = {};  // from the half of the runs that chose nothing
  Verdict verdict = Verdict::nothing;

  bool caught() const { return verdict == Verdict::broken; }
};

// Trains the runs and attacks them. The attacker knows the program, the initial weights and every
// other example, and sees the settled weights at the end. It has two ways to score a model: how far
// it lies in the direction in which the canary pulls (found by training without noise), and how
// many of the canary's rows were left as they were. Half of the runs choose the way and the
// threshold, the other half are the evidence.
//
// The runs have the noise of `run`, which for an honest audit is that of the stakes.
AuditFinding audit(const AuditPlan& plan, const AuditedRun& run, const AuditStakes& stakes);
AuditFinding audit(const AuditPlan& plan);

}  // namespace lazydp
