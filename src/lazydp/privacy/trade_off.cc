#include "lazydp/privacy/trade_off.h"

#include <algorithm>
#include <cmath>

#include "lazydp/base/error.h"
#include "lazydp/privacy/gaussian_dp.h"
#include "lazydp/privacy/pld.h"
#include "lazydp/privacy/require.h"

namespace lazydp {
namespace {

// Tangents this far apart lie below the curve by a thousandth at most, for an epsilon of ten.
constexpr int kTangents = 96;
constexpr double kLeastDelta = 1e-12;  // far below every p-value that is asked for
constexpr double kMostEpsilon = 600;   // exp() of it is a number

std::vector<double> evenly_up_to(double most_epsilon) {
  std::vector<double> epsilons(kTangents + 1);
  for (std::size_t i = 0; i < epsilons.size(); ++i) {
    epsilons[i] = most_epsilon * static_cast<double>(i) / kTangents;
  }
  return epsilons;
}

}  // namespace

// The upper envelope of the lines, steeper ones to the right.
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
  if (!(most < kMostEpsilon)) return TradeOff(std::vector<Point>{});  // promises nothing
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

double TradeOff::least_chance(double x) const {
  const auto next = std::ranges::upper_bound(lines_.begin() + 1, lines_.end(), x, {}, &Line::from);
  const Line& line = *(next - 1);
  return std::clamp(line.at_zero + line.slope * x, 0.0, 1.0);
}

Ledger with_noise_times(const Ledger& ledger, double factor) {
  Ledger other;
  for (SampledGaussian event : ledger.events()) {
    event.noise_multiplier *= factor;
    other.record(event);
  }
  return other;
}

}  // namespace lazydp
