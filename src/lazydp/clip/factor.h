#pragma once
// How much of an example's gradient is kept.

#include <cmath>

namespace lazydp {

// min(1, C / norm), a hair less so that rounding can't carry a norm beyond C; and 0 for a norm that
// is not finite: that example is left out, because a NaN in the sum, or an exception, would tell
// that it was there.
inline float clip_factor(double squared_norm, double clip_norm) {
  if (!std::isfinite(squared_norm)) return 0.0f;
  constexpr double kBelow = 1.0 - 1e-5;
  const double norm = std::sqrt(squared_norm);
  const double bound = clip_norm * kBelow;
  return norm > bound ? static_cast<float>(bound / norm) : 1.0f;
}

}  // namespace lazydp
