#include "lazydp/train/float_noise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazydp/train/budget.h"

namespace lazydp {

double least_noise_in_ulps(const Plan& plan, float largest_first_weight) {
  double least = std::numeric_limits<double>::infinity();
  double variance = 0.0;
  for (Step t = 1; t <= plan.steps; ++t) {
    const double sigma = event_of(plan, t).noise_multiplier;
    const double clip = plan.mechanism.clip_norm * plan.clip_schedule.factor(t, plan.steps);
    const double rate = plan.table_rate * plan.rate_schedule.factor(t, plan.steps);
    const double std = sigma > 0.0 ? rate * sigma * clip / plan.mechanism.expected_batch : 0.0;
    if (std > 0.0) least = std::min(least, std);
    variance += std * std;
  }
  const float size = std::max(largest_first_weight, static_cast<float>(std::sqrt(variance)));
  const double ulp = std::nextafter(size, std::numeric_limits<float>::infinity()) - size;
  return least / ulp;
}

}  // namespace lazydp
