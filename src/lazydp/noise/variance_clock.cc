#include "lazydp/noise/variance_clock.h"

namespace lazydp {

Step VarianceClock::open(double step_size, double noise_std, double shrink) {
  const double std = step_size * noise_std;
  step_size_ = step_size;
  return steps_.push({shrink, std * std});
}

void VarianceClock::restore(std::span<const Owed> steps) {
  *this = VarianceClock();
  reserve(static_cast<Step>(steps.size()));
  for (const Owed& owed : steps) steps_.push(owed);
}

}  // namespace lazydp
