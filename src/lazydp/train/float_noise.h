#pragma once
// Whether floats are fine enough for a plan's noise.

#include "lazydp/train/plan.h"

namespace lazydp {

// Late noise is added to weights that were rounded before. That tells nothing as long as the noise
// of every step is far coarser than the rounding: this is the least noise of any step on a table,
// in units in the last place of a weight as large as it began, or as the run's noise alone makes
// it. Infinite for plans without noise.
double least_noise_in_ulps(const Plan& plan, float largest_first_weight);

inline constexpr double kFineEnough = 256.0;

}  // namespace lazydp
