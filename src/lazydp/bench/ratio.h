#pragma once
// How many times longer one contender takes than another, and how sure that is.

#include <span>

namespace lazydp {

struct Ratio {
  double median = 0.0;
  double low = 0.0;  // a 95 % bootstrap interval of the median
  double high = 0.0;
};

// Of measurements taken in the same rounds: the median of the rounds' own ratios, so that a slow
// spell of the machine, which slows both, cancels. The interval is that of 4,000 resamples of the
// rounds, drawn from a fixed seed.
Ratio ratio(std::span<const double> of, std::span<const double> to);

}  // namespace lazydp
