#include "lazydp/privacy/bins/confident_mean.h"

#include "lazydp/base/error.h"

namespace lazydp {

double best_rate(std::span<const double> pilot, double most, std::uint64_t draws, double alpha) {
  check(!pilot.empty() && most > 0 && draws > 0, "draws of a variable");
  double best = 0.0;
  double least = INFINITY;
  for (double rate = 0.95 / most; rate > 1e-9 / most; rate /= 1.5) {
    ConfidentMean mean(rate);
    for (const double y : pilot) mean.add(y);
    const double bound = mean.bound_after(draws, alpha);
    if (bound < least) {
      least = bound;
      best = rate;
    }
  }
  return best;
}

}  // namespace lazydp
