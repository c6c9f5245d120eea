#pragma once
// States what may honestly be claimed of a model's privacy.

#include <string>

#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/private_selection.h"
#include "lazydp/train/plan.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

struct Claim {
  bool holds = false;
  double epsilon = 0.0;  // meaningful only if it holds
  double delta = 0.0;
  Accountant accountant = Accountant::rdp;
  double confidence = 1.0;  // below 1 if epsilon was computed by sampling: how sure it is
  std::string because;      // the mechanism in words, or why nothing is claimed
};

// Returns why nothing may be claimed for a run of this plan; empty if something may.
std::string no_claim(const Plan& plan, bool seed_is_secret, Sampling sampling);

// Returns why nothing may be claimed for the steps that the trainer took, or that were taken in the
// state it was restored from; empty if something may.
std::string no_claim(const Trainer& trainer);

// Returns the claim for the model as it would be released after the trainer's last step.
Claim claim(const Trainer& trainer, double delta);

// Returns the claim for the model as the one with the best noisy score of a private search: it pays
// for every trial, also for those that were lost. Throws PrivacyError if the trainer has spent more
// than the search counted for a candidate.
Claim claim_of_best(const Trainer& trainer, const PrivateSearch& search, double delta);

// Measures whether floats are fine enough for a plan's noise. Late noise is added to weights that
// were rounded before. That reveals nothing as long as the noise of every step is far coarser than
// the rounding. Returns the least noise of any step on a table, in units in the last place of a
// weight as large as it began, or as the run's noise alone makes it. Infinite for plans without
// noise.
double least_noise_in_ulps(const Plan& plan, float largest_first_weight);

inline constexpr double kFineEnough = 256.0;

}  // namespace lazydp
