#pragma once
// Limits for statistical tests, each with a false-alarm rate of one in a million.

#include <cmath>
#include <cstddef>
#include <vector>

namespace lazydp {

inline constexpr double kLargestZ = 4.9;  // two-sided: P(|z| > 4.9) = 1e-6

// Returns the value that a chi-square of `freedom` degrees exceeds with probability 1e-6 (Wilson
// and Hilferty 1931).
inline double chi_square_limit(double freedom) {
  const double a = 2.0 / (9.0 * freedom);
  return freedom * std::pow(1.0 - a + 4.753 * std::sqrt(a), 3.0);
}

// Pearson's statistic against its limit, above 1 when the observations contradict what was
// expected. Neighbouring cells are merged until at least 10 observations are expected in each.
inline double chi_square_excess(const std::vector<double>& observed,
                                const std::vector<double>& expected) {
  double statistic = 0.0;
  double cells = 0.0;
  double o = 0.0;
  double e = 0.0;
  double left = 0.0;
  for (const double x : expected) left += x;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    o += observed[i];
    e += expected[i];
    left -= expected[i];
    if (e < 10.0 || (left < 10.0 && i + 1 < expected.size())) continue;
    statistic += (o - e) * (o - e) / e;
    cells += 1.0;
    o = e = 0.0;
  }
  return statistic / chi_square_limit(cells - 1.0);
}

}  // namespace lazydp
