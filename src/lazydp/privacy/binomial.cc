#include "lazydp/privacy/binomial.h"

#include <algorithm>
#include <cmath>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

constexpr double kNegligible = 1e-17;

// P(Binomial(trials, p) = hits), for p in (0, 1).
double term_at(double hits, double trials, double p) {
  return std::exp(std::lgamma(trials + 1) - std::lgamma(hits + 1) - std::lgamma(trials - hits + 1) +
                  hits * std::log(p) + (trials - hits) * std::log1p(-p));
}

// P(<= hits) where hits is not above the mode: terms fall from the largest, at `hits`.
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

// Found by halving on the binomial sum itself: a few hundred terms, and no special function.
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

}  // namespace lazydp
