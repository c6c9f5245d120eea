#include "lazydp/privacy/binomial.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lazydp/base/error.h"

namespace lazydp {

namespace {

constexpr double kNegligible = 1e-17;

// Returns P(Binomial(trials, p) = hits), for p in (0, 1).
double term_at(double hits, double trials, double p) {
  return std::exp(std::lgamma(trials + 1) - std::lgamma(hits + 1) - std::lgamma(trials - hits + 1) +
                  hits * std::log(p) + (trials - hits) * std::log1p(-p));
}

// Returns P(<= hits) where hits is not above the mode: terms fall from the largest, at `hits`.
double lower_sum(std::uint64_t hits, std::uint64_t trials, double p) {
  const auto n = static_cast<double>(trials);
  auto k = static_cast<double>(hits);
  double term = term_at(k, n, p);
  double sum = term;
  for (; k > 0 && term > sum * kNegligible; --k) {
    term *= k * (1 - p) / ((n - k + 1) * p);
    sum += term;
  }
  return std::min(sum, 1.0);
}

}  // namespace

double binomial_cdf(std::uint64_t hits, std::uint64_t trials, double p) {
  if (hits >= trials || p <= 0) return 1;
  if (p >= 1) return 0;
  if (static_cast<double>(hits) < static_cast<double>(trials) * p)
    return lower_sum(hits, trials, p);
  return 1 - lower_sum(trials - hits - 1, trials, 1 - p);
}

double binomial_tail(std::uint64_t hits, std::uint64_t trials, double p) {
  if (hits == 0) return 1;
  if (hits > trials) return 0;
  return binomial_cdf(trials - hits, trials, 1 - p);  // the misses are binomial too
}

std::uint64_t binomial_quantile(double level, std::uint64_t trials, double p) {
  std::uint64_t low = 0, high = trials;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (binomial_cdf(middle, trials, p) >= level) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Bisects on the binomial sum itself: a few hundred terms, and no special function.
double binomial_upper_bound(std::uint64_t hits, std::uint64_t trials, double alpha) {
  check(hits <= trials && trials > 0, "hits among trials");
  if (hits == trials) return 1;
  double low = static_cast<double>(hits) / static_cast<double>(trials);
  double high = 1;
  for (int i = 0; i < 60 && high - low > 1e-15; ++i) {
    const double middle = (low + high) / 2;
    (lower_sum(hits, trials, middle) > alpha ? low : high) = middle;
  }
  return high;
}

namespace {

constexpr double kFar = 40.0;  // standard deviations; probabilities beyond it underflow
constexpr int kHalvings = 100;

// Returns where a rising function of x in [low, high] turns from false to true.
template <typename Predicate>
double turning_point(double low, double high, const Predicate& reached) {
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (reached(middle) ? high : low) = middle;
  }
  return high;
}

// Returns log P(N(0, 1) <= -x) for x >= 0, also where the probability itself underflows.
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
