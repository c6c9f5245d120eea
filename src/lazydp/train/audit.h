#pragma once
// Tries to break the claim: trains a tiny model thousands of times with and without one example,
// and lets an attacker guess from the released weights which it was.

#include <cstdint>
#include <optional>
#include <string_view>

#include "lazydp/privacy/attack_evidence.h"
#include "lazydp/privacy/calibration.h"
#include "lazydp/train/canary.h"
#include "lazydp/train/recipe.h"

namespace lazydp {

struct AuditPlan {
  Recipe recipe = kRecipes.back();
  Canary canary = Canary::rare;
  Budget budget{.epsilon = 1.0, .delta = 1e-5};  // the noise is calibrated to it
  Step steps = 4;                                // every example joins each of them
  std::uint64_t runs = 20'000;                   // of each kind
  double alpha = 1e-6;                           // the bound may be wrong with this probability
  std::optional<std::uint64_t> seed = {};        // fixed: the audit repeats

  void validate() const;  // throws UserError, for a recipe without noise among others
};

struct AuditFinding {
  double noise_multiplier = 0.0;
  double stated_epsilon = 0.0;  // what the accountant says of the runs' ledger
  double proven_epsilon = 0.0;  // a lower bound at the same delta, with confidence 1 - alpha
  std::string_view attack;      // in words
  AttackEvidence evidence;      // from the half of the runs that chose nothing

  bool caught() const { return proven_epsilon > stated_epsilon; }
};

// The attacker knows the program, the initial weights and every other example, and sees the settled
// weights at the end. It has two ways to score a model: how far it lies in the direction in which
// the canary pulls (found by training without noise), and how many of the canary's rows were left
// as they were. Half of the runs choose the way and the threshold, the other half are the evidence.
AuditFinding audit(const AuditPlan& plan);

}  // namespace lazydp
