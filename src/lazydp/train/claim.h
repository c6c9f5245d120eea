#pragma once
// What may honestly be said of a model's privacy.

#include <string>

#include "lazydp/privacy/accountant.h"
#include "lazydp/train/plan.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

struct Claim {
  bool holds = false;
  double epsilon = 0.0;  // meaningful only if it holds
  double delta = 0.0;
  Accountant accountant = Accountant::rdp;
  std::string because;  // the mechanism in words, or why nothing is claimed
};

// Why nothing may be claimed for a run of this plan; empty if something may.
std::string no_claim(const Plan& plan, bool seed_is_secret, bool poisson);

// Why nothing may be claimed for what the trainer, and those whose state it goes on from, did.
std::string no_claim(const Trainer& trainer);

// Of the model as it would be released after the trainer's last step.
Claim claim(const Trainer& trainer, double delta);

// Whether floats are fine enough for a plan's noise.

// Late noise is added to weights that were rounded before. That tells nothing as long as the noise
// of every step is far coarser than the rounding: this is the least noise of any step on a table,
// in units in the last place of a weight as large as it began, or as the run's noise alone makes
// it. Infinite for plans without noise.
double least_noise_in_ulps(const Plan& plan, float largest_first_weight);

inline constexpr double kFineEnough = 256.0;

}  // namespace lazydp
