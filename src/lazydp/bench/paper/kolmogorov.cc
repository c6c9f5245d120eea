#include "lazydp/bench/paper/kolmogorov.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lazydp::paper {
namespace {

// P(K > x) of Kolmogorov's limiting distribution.
double tail(double x) {
  if (x < 0.2) return 1.0;  // the series needs many terms there, and the answer is 1 to 1e-10
  double sum = 0.0;
  for (int k = 1; k <= 100; ++k) {
    sum += (k % 2 == 1 ? 2.0 : -2.0) * std::exp(-2.0 * k * k * x * x);
  }
  return std::clamp(sum, 0.0, 1.0);
}

}  // namespace

KolmogorovTest against_normal(std::vector<double> values) {
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double below = 0.5 * std::erfc(-values[i] / std::numbers::sqrt2);
    distance = std::max(
        {distance, below - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - below});
  }
  return {distance, values.empty() ? 1.0 : tail(distance * std::sqrt(n))};
}

}  // namespace lazydp::paper
