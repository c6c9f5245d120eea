#include "lazydp/privacy/pld/pld.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazydp/privacy/pld/pld_curve.h"
#include "lazydp/privacy/rdp.h"

namespace lazydp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLost = 1e-8;  // of delta, cut off in the noise's tails
constexpr double kSmallestDelta = 1e-200;
constexpr std::size_t kWindows = 7;       // through which a whole curve is looked at
constexpr double kWorthTightness = 0.02;  // below it there is no privacy to be tight about

double least_noise(const Ledger& ledger) {
  double least = kInfinity;
  for (const SampledGaussian& event : ledger.events()) {
    least = std::min(least, event.noise_multiplier);
  }
  return least;
}

double reach_for(double steps, double delta) {
  double reach = 6;
  while (steps * mass_beyond(reach) > kLost * delta) reach += 0.125;
  return reach;
}

template <typename WindowFor, typename Read>
double worst_direction(const Ledger& ledger, Bound bound, double delta_scale,
                       const WindowFor& window_for, const Read& read) {
  const Phases phases = bound == Bound::up ? merged_phases(ledger) : exact_phases(ledger);
  const auto steps = static_cast<double>(ledger.steps());
  const double reach = reach_for(steps, std::max(delta_scale, kSmallestDelta));
  double worst = 0;
  for (const Direction direction : {Direction::remove, Direction::add}) {
    const LossSum sum = loss_sum(phases, direction, bound, reach);
    const PrivacyCurve curve(sum, window_for(sum), bound, steps * mass_beyond(reach));
    worst = std::max(worst, read(curve));
  }
  return worst;
}

double epsilon_bound(const Ledger& ledger, double delta, Bound bound) {
  return worst_direction(
      ledger, bound, delta, [&](const LossSum& sum) { return window_for_delta(sum, delta); },
      [&](const PrivacyCurve& curve) { return curve.epsilon(delta); });
}

double delta_bound(const Ledger& ledger, double epsilon, Bound bound, double delta_scale) {
  return worst_direction(
      ledger, bound, delta_scale,
      [&](const LossSum& sum) { return window_for_epsilon(sum, epsilon); },
      [&](const PrivacyCurve& curve) { return curve.delta(epsilon); });
}

}  // namespace

double pld_epsilon(const Ledger& ledger, double delta) {
  const double by_rdp = rdp_epsilon(ledger, delta);  // also a bound, and cheap
  if (ledger.steps() == 0 || least_noise(ledger) < kWorthTightness) return by_rdp;
  return std::min(by_rdp, epsilon_bound(ledger, delta, Bound::up));
}

double pld_delta(const Ledger& ledger, double epsilon) {
  const double by_rdp = rdp_delta(ledger, epsilon);
  if (ledger.steps() == 0 || least_noise(ledger) < kWorthTightness) return by_rdp;
  return std::min(by_rdp, delta_bound(ledger, epsilon, Bound::up, 1e-6 * by_rdp));
}

std::vector<double> pld_deltas(const Ledger& ledger, std::span<const double> epsilons) {
  std::vector<double> deltas;
  for (const double epsilon : epsilons) deltas.push_back(rdp_delta(ledger, epsilon));
  if (ledger.steps() == 0 || least_noise(ledger) < kWorthTightness || deltas.empty()) return deltas;
  const Phases phases = merged_phases(ledger);
  const auto steps = static_cast<double>(ledger.steps());
  const double reach = reach_for(steps, std::max(1e-6 * deltas.back(), kSmallestDelta));
  std::vector<double> worst(epsilons.size(), 0.0);
  for (const Direction direction : {Direction::remove, Direction::add}) {
    const LossSum sum = loss_sum(phases, direction, Bound::up, reach);
    std::vector<double> least = deltas;
    for (std::size_t w = 0; w < kWindows; ++w) {
      const double middle = epsilons[(epsilons.size() - 1) * w / (kWindows - 1)];
      const PrivacyCurve curve(sum, window_for_epsilon(sum, middle), Bound::up,
                               steps * mass_beyond(reach));
      for (std::size_t i = 0; i < epsilons.size(); ++i) {
        least[i] = std::min(least[i], curve.delta(epsilons[i]));
      }
    }
    for (std::size_t i = 0; i < worst.size(); ++i) worst[i] = std::max(worst[i], least[i]);
  }
  return worst;
}

double pld_epsilon_lower(const Ledger& ledger, double delta) {
  if (ledger.steps() == 0 || least_noise(ledger) < kWorthTightness) return 0;
  return epsilon_bound(ledger, delta, Bound::down);
}

double pld_delta_lower(const Ledger& ledger, double epsilon) {
  if (ledger.steps() == 0 || least_noise(ledger) < kWorthTightness) return 0;
  return delta_bound(ledger, epsilon, Bound::down, 1e-6 * rdp_delta(ledger, epsilon));
}

}  // namespace lazydp
