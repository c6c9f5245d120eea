#include "lazydp/privacy/trade_off.h"

#include <algorithm>
#include <cmath>

#include "lazydp/base/error.h"
#include "lazydp/privacy/binomial.h"
#include "lazydp/privacy/pld/pld.h"

namespace lazydp {
namespace {

// Tangents at this distance lie below the curve by a thousandth at most, for an epsilon of ten.
constexpr int kTangents = 96;
constexpr double kLeastDelta = 1e-12;  // far below every p-value in use
constexpr double kMostEpsilon = 600;   // its exp() is finite

std::vector<double> evenly_up_to(double most_epsilon) {
  std::vector<double> epsilons(kTangents + 1);
  for (std::size_t i = 0; i < epsilons.size(); ++i) {
    epsilons[i] = most_epsilon * static_cast<double>(i) / kTangents;
  }
  return epsilons;
}

constexpr double kMostOfSum = 30;  // beyond it an attack's rates cannot be distinguished

// Returns the probabilities of 0, 1, ... `steps` successes; those below 1e-15 are left out as 0.
std::vector<double> binomial_chances(std::uint64_t steps, double rate) {
  const auto n = static_cast<double>(steps);
  std::vector<double> chances(steps + 1, 0.0);
  if (rate >= 1.0) {
    chances.back() = 1.0;
    return chances;
  }
  for (std::uint64_t k = 0; k <= steps; ++k) {
    const auto x = static_cast<double>(k);
    const double log_chance = std::lgamma(n + 1) - std::lgamma(x + 1) - std::lgamma(n - x + 1) +
                              x * std::log(rate) + (n - x) * std::log1p(-rate);
    if (log_chance > std::log(1e-15)) chances[k] = std::exp(log_chance);
  }
  return chances;
}

std::vector<double> convolve(std::span<const double> a, std::span<const double> b) {
  std::vector<double> sums(a.size() + b.size() - 1, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == 0.0) continue;
    for (std::size_t j = 0; j < b.size(); ++j) sums[i + j] += a[i] * b[j];
  }
  return sums;
}

// What an event adds to the sum of all steps: noise, and the example so many times. times[k] is the
// probability of k times.
struct SumOfEvent {
  double variance;
  std::vector<double> times;
};

SumOfEvent sum_of(const SampledGaussian& event) {
  const double noise = event.noise_multiplier;
  return {static_cast<double>(event.steps) * noise * noise,
          binomial_chances(event.steps, event.sampling_rate)};
}

SumOfEvent sum_of(const Gaussian& event) {
  return sum_of(SampledGaussian{1.0, event.noise_multiplier, event.steps});
}

SumOfEvent sum_of(const CorrelatedGaussian& event) {
  const double noise = event.noise_multiplier;
  return {noise * noise * variance_of_sum(event.bands, event.steps),
          binomial_chances(most_participations(event.allowed, event.steps), 1.0)};
}

}  // namespace

// Keeps the upper envelope of the lines, steeper ones to the right.
TradeOff::TradeOff(std::span<const Point> points) {
  std::vector<Line> all = {{0, 0, 0}};
  for (const auto& [epsilon, delta] : points) {
    require(epsilon >= 0 && epsilon < 700, "epsilon", epsilon, "at least 0 and below 700");
    require(delta >= 0 && delta <= 1, "delta", delta, "from 0 to 1");
    const double e = std::exp(epsilon);
    all.push_back({-delta / e, 1 / e, 0});
    all.push_back({1 - delta - e, e, 0});
  }
  std::ranges::sort(all, [](const Line& a, const Line& b) {
    return a.slope < b.slope || (a.slope == b.slope && a.at_zero > b.at_zero);
  });
  for (Line line : all) {
    if (!lines_.empty() && lines_.back().slope == line.slope) continue;
    while (!lines_.empty()) {
      const Line& last = lines_.back();
      line.from = (last.at_zero - line.at_zero) / (line.slope - last.slope);
      if (line.from > last.from || lines_.size() == 1) break;
      lines_.pop_back();
    }
    lines_.push_back(line);
  }
}

TradeOff TradeOff::of(const Ledger& ledger) {
  if (ledger.steps() == 0) return TradeOff(std::vector<Point>{{0, 0}});
  const double most = pld_epsilon(ledger, kLeastDelta);
  if (!(most < kMostEpsilon)) return TradeOff(std::vector<Point>{});  // guarantees nothing
  const std::vector<double> epsilons = evenly_up_to(most);
  const std::vector<double> deltas = pld_deltas(ledger, epsilons);
  std::vector<Point> points;
  for (std::size_t i = 0; i < epsilons.size(); ++i) {
    points.push_back({epsilons[i], std::min(1.0, deltas[i])});
  }
  return TradeOff(points);
}

TradeOff TradeOff::gaussian(double mu) {
  check(mu > 0 && std::isfinite(mu), "a positive mu");
  std::vector<Point> points;
  for (const double epsilon :
       evenly_up_to(std::min(gaussian_epsilon(mu, kLeastDelta), kMostEpsilon))) {
    points.push_back({epsilon, gaussian_delta(mu, epsilon)});
  }
  return TradeOff(points);
}

TradeOff TradeOff::of_sum(const Ledger& ledger) {
  double variance = 0.0;
  std::vector<double> times = {1.0};
  for (const PrivacyEvent& event : ledger.events()) {
    const SumOfEvent sum = std::visit([](const auto& use) { return sum_of(use); }, event);
    variance += sum.variance;
    times = convolve(times, sum.times);
  }
  check(variance > 0, "noise in the sum");
  const double std = std::sqrt(variance);

  // Computes how often the sum lies above each threshold, without the example and with it.
  constexpr std::size_t kThresholds = 2000;
  const double low = -8 * std;
  const double width = static_cast<double>(times.size()) + 16 * std;
  std::vector<double> without(kThresholds), with(kThresholds);
  for (std::size_t i = 0; i < kThresholds; ++i) {
    const double x = low + width * static_cast<double>(i) / kThresholds;
    const auto above = [&](double mean) {
      return std::erfc((x - mean) / std / std::sqrt(2.0)) / 2;
    };
    without[i] = above(0.0);
    for (std::size_t k = 0; k < times.size(); ++k) {
      if (times[k] > 0) with[i] += times[k] * above(static_cast<double>(k));
    }
  }
  std::vector<Point> points;
  for (const double epsilon : evenly_up_to(kMostOfSum)) {
    const double e = std::exp(epsilon);
    double in = 0.0, out = 0.0;  // delta when the example is guessed to be in, and to be out
    for (std::size_t i = 0; i < kThresholds; ++i) {
      in = std::max(in, with[i] - e * without[i]);
      out = std::max(out, 1 - without[i] - e * (1 - with[i]));
    }
    points.push_back({epsilon, std::min(in, out)});
  }
  return TradeOff(points);
}

double TradeOff::least_chance(double x) const {
  const auto next = std::ranges::upper_bound(lines_.begin() + 1, lines_.end(), x, {}, &Line::from);
  const Line& line = *(next - 1);
  return std::clamp(line.at_zero + line.slope * x, 0.0, 1.0);
}

Ledger with_noise_times(const Ledger& ledger, double factor) {
  Ledger other;
  for (PrivacyEvent event : ledger.events()) {
    std::visit([factor](auto& use) { use.noise_multiplier *= factor; }, event);
    other.record(event);
  }
  return other;
}

}  // namespace lazydp
