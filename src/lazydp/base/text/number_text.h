#pragma once
// Numbers as text for people to read, and order statistics of a few measurements.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace lazydp {

std::string fixed(double value, int digits);       // 0.7561; "-" for NaN
std::string fixed_up(double value, int digits);    // as fixed(), but rounded up: never below value
std::string shortest(double value);                // 1e-06, 0.02048: six digits at most
std::string rounded_up(double value, int digits);  // significant digits; never below value
std::string with_commas(double whole);             // 1,234,567
std::string human_bytes(double bytes);             // 96.1 GB, in powers of 1000
std::string bytes_in_full(double bytes);           // 96.1 GB (96,136,908,288 bytes)
std::string human_duration(double seconds);        // 850 ms, 12 s, 3 min 05 s, 2 h 10 min

// Returns the p-quantile, interpolated between neighbours, or NaN if there are no values.
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
