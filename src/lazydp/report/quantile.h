#pragma once
// Order statistics of a handful of measurements.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace lazydp {

// The p-quantile, interpolated between neighbours; NaN of nothing.
inline double quantile(std::span<const double> values, double p) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

inline double median(std::span<const double> values) {
  return quantile(values, 0.5);
}

}  // namespace lazydp
