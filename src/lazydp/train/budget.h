#pragma once
// Training within a privacy budget: how much noise it takes, and how far it goes.

#include "lazydp/privacy/calibration.h"
#include "lazydp/privacy/ledger.h"
#include "lazydp/train/plan.h"

namespace lazydp {

// What step t of the plan does to the data.
SampledGaussian event_of(const Plan& plan, Step t);

// The smallest base noise multiplier with which a run that has spent `spent` on steps 1 … now takes
// the plan's other steps, under its schedule, within its budget. If none does, throws
// UserError, or PrivacyError if that is for what was spent.
double noise_for(const Plan& plan, Step now = 0, const Ledger& spent = {});

// The last step, plan.steps at most, through which a run that has spent `spent` on steps 1 … now
// stays within the plan's budget; `now` if it cannot take another one.
Step last_affordable_step(const Plan& plan, Step now, const Ledger& spent);

}  // namespace lazydp
