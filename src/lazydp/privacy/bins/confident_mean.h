#pragma once
// An upper confidence bound on the mean of bounded random variables.

#include <cmath>
#include <cstdint>
#include <span>

#include "lazydp/base/error.h"

namespace lazydp {

// Collects independent draws of a variable Y in [0, most] and bounds its mean from above.
//
// For a rate r below 1 / most that was fixed before the draws, prod_i (1 - r Y_i) / (1 - r E Y) has
// mean 1, so it is above 1 / alpha with probability alpha at most (Markov). Otherwise
//   E Y <= (1 - exp((sum_i log(1 - r Y_i) + log alpha) / n)) / r.
// That is Y's mean, + log(1 / alpha) / (n r), + about r Var Y / 2: the best r is about
// sqrt(2 log(1 / alpha) / (n Var Y)), or as close to 1 / most as it may be.
class ConfidentMean {
 public:
  explicit ConfidentMean(double rate) : rate_(rate) {}

  void add(double y) {
    log_wealth_ += std::log1p(-rate_ * y);
    ++draws_;
  }
  // Returns a bound that is too small with probability `alpha` at most; infinite without draws.
  double upper_bound(double alpha) const { return bound_after(draws_, alpha); }

  // Returns what upper_bound() would return after so many draws that came out like these.
  double bound_after(std::uint64_t draws, double alpha) const {
    if (draws_ == 0) return INFINITY;
    const double share =
        log_wealth_ / static_cast<double>(draws_) + std::log(alpha) / static_cast<double>(draws);
    return -std::expm1(share) / rate_;
  }

 private:
  double rate_;
  double log_wealth_ = 0.0;  // sum of log(1 - rate y)
  std::uint64_t draws_ = 0;
};

// Returns the rate that would have bounded best if `draws` draws had come out like `pilot`, which
// are other draws of the same variable.
inline double best_rate(std::span<const double> pilot, double most, std::uint64_t draws,
                        double alpha) {
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
