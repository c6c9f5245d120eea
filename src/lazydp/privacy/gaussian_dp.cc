#include "lazydp/privacy/gaussian_dp.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lazydp {
namespace {

constexpr double kFar = 40.0;  // standard deviations, beyond which a double knows no probability
constexpr int kHalvings = 100;

// Where a rising function of x in [low, high] turns from false to true.
template <typename Predicate>
double turning_point(double low, double high, const Predicate& reached) {
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (reached(middle) ? high : low) = middle;
  }
  return high;
}

// log P(N(0, 1) <= -x) for x >= 0, also where the probability itself underflows.
double log_tail(double x) {
  if (x < 30) return std::log(normal_cdf(-x));
  return -x * x / 2 - std::log(x * std::sqrt(2 * std::numbers::pi)) - 1 / (x * x);
}

}  // namespace

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

double normal_quantile(double probability) {
  if (probability > 0.5) return -normal_quantile(1 - probability);
  return turning_point(-kFar, 0, [&](double x) { return normal_cdf(x) >= probability; });
}

double gaussian_delta(double mu, double epsilon) {
  if (mu == 0) return 0;
  const double x = mu / 2 - epsilon / mu;
  return std::max(0.0, normal_cdf(x) - std::exp(epsilon + log_tail(mu / 2 + epsilon / mu)));
}

double gaussian_epsilon(double mu, double delta) {
  if (gaussian_delta(mu, 0) <= delta) return 0;
  const double most = mu * mu / 2 + kFar * mu;
  return turning_point(0, most, [&](double e) { return gaussian_delta(mu, e) <= delta; });
}

double gaussian_mu(double false_alarm, double miss) {
  if (false_alarm + miss >= 1) return 0;
  return -normal_quantile(false_alarm) - normal_quantile(miss);
}

}  // namespace lazydp
