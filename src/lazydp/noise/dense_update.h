#pragma once
// How dense weights take a step: their gradient and their noise at once.

#include <span>

#include "lazydp/noise/clock.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

// weights = shrink * weights - step_size * (gradient + noise) of the open step t. Every dense
// weight is read at every step, so none of its noise can wait.
void update_dense(std::span<float> weights, std::span<const float> gradient, Step t,
                  const VarianceClock& clock, const NoiseSource& noise);

}  // namespace lazydp
