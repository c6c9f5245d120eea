#pragma once
// Closed forms and brute-force integrals that share no code with the accountants they check.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "lazydp/privacy/ledger.h"

namespace lazydp {

inline Ledger ledger_of(double sampling_rate, double noise_multiplier, std::uint64_t steps) {
  Ledger ledger;
  ledger.record({sampling_rate, noise_multiplier, steps});
  return ledger;
}

inline double normal_cdf(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}

inline double normal_density(double x, double mean, double sigma) {
  const double z = (x - mean) / sigma;
  return std::exp(-z * z / 2) / (sigma * std::sqrt(2 * std::acos(-1.0)));
}

// delta(epsilon) of the Gaussian mechanism with signal-to-noise ratio m = sqrt(steps) / sigma:
// Balle and Wang 2018.
inline double gaussian_delta(double m, double epsilon) {
  return normal_cdf(m / 2 - epsilon / m) - std::exp(epsilon) * normal_cdf(-m / 2 - epsilon / m);
}

inline double gaussian_epsilon(double m, double delta) {
  double low = 0;
  double high = m * m / 2 + 40 * m;
  if (gaussian_delta(m, 0) <= delta) return 0;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (gaussian_delta(m, middle) > delta ? low : high) = middle;
  }
  return high;
}

// Outputs of one subsampled step: with the example P, without it Q.
struct SampledDensities {
  double sampling_rate, sigma;
  double q(double x) const { return normal_density(x, 0, sigma); }
  double p(double x) const {
    return (1 - sampling_rate) * q(x) + sampling_rate * normal_density(x, 1, sigma);
  }
};

// Both hockey-stick divergences of two different steps, by the midpoint rule in the plane: {P over
// Q, Q over P}.
struct TwoDeltas {
  double remove, add;
};
inline TwoDeltas two_step_deltas(const SampledDensities& first, const SampledDensities& second,
                                 double epsilon, int cells) {
  const double low_1 = -8 * first.sigma;
  const double low_2 = -8 * second.sigma;
  const double width_1 = (1 + 16 * first.sigma) / cells;
  const double width_2 = (1 + 16 * second.sigma) / cells;
  TwoDeltas total{0, 0};
  for (int i = 0; i < cells; ++i) {
    const double x = low_1 + (i + 0.5) * width_1;
    const double p = first.p(x) * width_1;
    const double q = first.q(x) * width_1;
    for (int j = 0; j < cells; ++j) {
      const double y = low_2 + (j + 0.5) * width_2;
      const double pp = p * second.p(y) * width_2;
      const double qq = q * second.q(y) * width_2;
      total.remove += std::max(0.0, pp - std::exp(epsilon) * qq);
      total.add += std::max(0.0, qq - std::exp(epsilon) * pp);
    }
  }
  return total;
}

// log E_Q[(P/Q)^order] of one step, by the trapezoid rule, which converges exponentially here. The
// mean of (P/Q) - 1 is zero and is taken out, so that small results keep their digits.
inline double log_moment(double sampling_rate, double sigma, double order) {
  const double width = std::min(sigma / 40, sigma * sigma / 8);
  long double total = 0;  // for its range: the factors overflow where their product does not
  for (double x = -12 * sigma; x < order + 12 * sigma; x += width) {
    const long double ratio = sampling_rate * std::expm1((x - 0.5L) / (sigma * sigma));
    const long double term = std::expm1(order * std::log1p(ratio)) - order * ratio;
    total += std::exp(-0.5L * x * x / (sigma * sigma)) * term;
  }
  const long double scale = width / (sigma * std::sqrt(2 * std::acos(-1.0L)));
  return static_cast<double>(std::log1p(scale * total));
}

}  // namespace lazydp
