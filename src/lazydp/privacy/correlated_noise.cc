#include "lazydp/privacy/correlated_noise.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "lazydp/base/error.h"

namespace lazydp {

namespace {

// Room for the rounding of a sum of kMostBands products: far below what it could change in epsilon.
constexpr double kRounding = 1e-12;

[[noreturn]] void refuse_column(std::size_t step, double value, double before) {
  std::ostringstream message;
  message << "these bands have no sensitivity that is known: the first column of the matrix whose "
             "inverse they are is "
          << value << " at place " << step << " after " << before
          << "; it must never be negative and never increase, as with lambda from 0 to 1 or bisr";
  throw UserError(message.str());
}

}  // namespace

std::vector<double> independent_bands() {
  return {1.0};
}

std::vector<double> lambda_bands(double lambda) {
  require(lambda >= 0 && lambda < 1, "lambda", lambda, "from 0 to below 1, for example 0.9");
  return {1.0, -lambda};
}

// The power series of sqrt(1 - x): its square is 1 - x, whose inverse sums prefixes.
std::vector<double> bisr_bands(std::uint64_t bands) {
  require(bands >= 1 && bands <= kMostBands, "bisr", bands,
          "a number of bands from 1 to " + std::to_string(kMostBands));
  std::vector<double> d = {1.0};
  for (std::size_t j = 1; j < bands; ++j) {
    const auto place = static_cast<double>(j);
    d.push_back(d.back() * (place - 1.5) / place);
  }
  return d;
}

void Participation::validate() const {
  require(steps >= 1 && steps <= kMostBlockSteps, "steps", steps,
          "from 1 to " + std::to_string(kMostBlockSteps) + " with correlated noise");
  require(separation >= 1, "separation", separation, "a number of steps, 1 or more");
  require(times >= 1, "participations", times, "1 or more");
}

std::vector<double> first_column(std::span<const double> bands, std::uint64_t steps) {
  require(!bands.empty() && bands.size() <= kMostBands, "the number of bands", bands.size(),
          "from 1 to " + std::to_string(kMostBands));
  require(bands.front() == 1.0, "the first band", bands.front(), "1");
  std::vector<double> c(steps);
  if (steps == 0) return c;
  c[0] = 1.0;
  for (std::size_t i = 1; i < steps; ++i) {
    double sum = 0.0;
    for (std::size_t j = 1; j < bands.size() && j <= i; ++j) sum -= bands[j] * c[i - j];
    const bool holds = sum >= -kRounding && sum <= c[i - 1] + kRounding;
    if (!holds) refuse_column(i, sum, c[i - 1]);  // false for NaN too
    c[i] = sum;
    if (std::abs(sum) < 1e-200) c[i] = 0.0;  // its square is 0; what follows is smaller still
  }
  return c;
}

std::vector<double> sensitivities(std::span<const double> bands,
                                  const Participation& participation) {
  participation.validate();
  const auto& [steps, separation, times] = participation;
  const std::vector<double> c = first_column(bands, steps);
  // Row i of the sum of the columns that begin at 0, separation, 2 separation, ...
  std::vector<double> moved = c;
  for (std::uint64_t i = separation; i < steps; ++i) {
    moved[i] += moved[i - separation];
    const std::uint64_t ago = i / separation;
    if (ago >= times) moved[i] -= c[i - times * separation];
  }
  std::vector<double> result = {0.0};
  result.reserve(steps + 1);
  double squares = 0.0;
  for (const double m : moved) {
    squares += m * m;
    result.push_back(std::sqrt(squares));
  }
  return result;
}

double sensitivity(std::span<const double> bands, const Participation& participation) {
  return sensitivities(bands, participation).back();
}

std::uint64_t most_participations(const Participation& allowed, std::uint64_t steps) {
  const std::uint64_t fit = steps / allowed.separation + (steps % allowed.separation != 0 ? 1 : 0);
  return std::min(allowed.times, fit);
}

namespace {

struct SumVariances {
  double last = 0.0;
  double total = 0.0;
};

// Returns the variance of the sum of the first t steps, for t = steps and added up over t = 1 ...
// steps. That sum is sum_k D_{t-k} zeta_k, where D_m = d_0 + ... + d_m.
SumVariances sum_variances(std::span<const double> bands, std::uint64_t steps) {
  double left = 0.0;  // D_m
  SumVariances variances;
  for (std::uint64_t m = 0; m < steps; ++m) {
    if (m < bands.size()) left += bands[m];
    variances.last += left * left;
    variances.total += variances.last;
  }
  return variances;
}

}  // namespace

double variance_of_sum(std::span<const double> bands, std::uint64_t steps) {
  return sum_variances(bands, steps).last;
}

double accumulated_noise(std::span<const double> bands, std::uint64_t steps) {
  check(steps > 0, "noise of some steps");
  return std::sqrt(sum_variances(bands, steps).total / static_cast<double>(steps));
}

namespace {

// Returns lambda with so many decimals that 1 - lambda has four digits: a command line can say it.
double in_few_digits(double lambda) {
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(1 - lambda)));
  return std::round(lambda * scale) / scale;
}

}  // namespace

// The product falls and then rises along log(1 - lambda): a coarse scan finds the valley, thirds of
// it its bottom.
double best_lambda(const Participation& participation) {
  participation.validate();
  const auto noise_at = [&](double log_rest) {
    const std::vector<double> bands = lambda_bands(-std::expm1(log_rest));
    return sensitivity(bands, participation) * accumulated_noise(bands, participation.steps);
  };
  constexpr double kStep = 0.25;
  constexpr double kLeast = -14.0;  // 1 - lambda = 1e-6
  double middle = 0.0;
  double noise = noise_at(middle);
  for (double next = -kStep; next >= kLeast; next -= kStep) {
    const double found = noise_at(next);
    if (found >= noise) break;
    middle = next;
    noise = found;
  }
  double low = middle - kStep;
  double high = std::min(middle + kStep, 0.0);
  while (high - low > 1e-5) {
    const double third = (high - low) / 3;
    if (noise_at(low + third) < noise_at(high - third)) {
      high -= third;
    } else {
      low += third;
    }
  }
  return in_few_digits(-std::expm1((low + high) / 2));
}

}  // namespace lazydp
