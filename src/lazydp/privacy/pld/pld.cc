#include "lazydp/privacy/pld/pld.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazydp/privacy/rdp.h"

namespace lazydp {

namespace {

constexpr double kErrorPerStep = 1e-12;  // relative, of an atom's mass and of a moment

Lattice lattice_over(const LossSum& sum, const Window& window) {
  const std::size_t points = lattice_size(sum, window);
  const double spacing = (window.high - window.low) / static_cast<double>(points);
  const double first = std::floor((window.low - sum.shift) / spacing);
  return {sum.shift, spacing, first, points};
}

// Bounds the L2 norm of f(u) = exp(-tilt u) (1 - exp(-u)) <= exp(-tilt u) min(1, u) over the
// lattice, u > 0: the largest value and the integral of the square.
double norm_of_weights(double tilt, const Lattice& lattice) {
  const double width = lattice.spacing * static_cast<double>(lattice.points);
  const double largest = std::min({1.0, width, 1 / (1 + tilt)});
  const double integral =
      std::min({width * largest * largest, 1 / (2 * tilt), 1 / (4 * tilt * tilt * tilt)});
  return std::sqrt(largest * largest + integral / lattice.spacing);
}

}  // namespace

// Computes delta(e) = sum over losses l > e of P(l) (1 - exp(e - l)), at lattice points from the
// highest down. Sums are scaled to the current point, and but for rounding all terms are positive:
// nothing overflows, nothing cancels.
class PrivacyCurve::Descent {
 public:
  explicit Descent(const PrivacyCurve& curve)
      : curve_(curve),
        decay_(std::exp(-curve.tilt_ * curve.lattice_.spacing)),
        below_(-std::expm1(-curve.lattice_.spacing)),
        point_(curve.lattice_.points - 1),
        weight_(curve.loss_.mass[point_]) {}

  double loss() const { return curve_.lattice_.loss(point_); }
  double delta() const {
    const double scale = std::exp(curve_.loss_.log_scale - curve_.tilt_ * loss());
    return std::clamp(scale * (sum_ + curve_.slack_) + curve_.outside_, 0.0, 1.0);
  }

  bool descend() {
    if (point_ == 0) return false;
    --point_;
    sum_ = decay_ * (sum_ + below_ * weight_);
    weight_ = curve_.loss_.mass[point_] + decay_ * (1 - below_) * weight_;
    return true;
  }

 private:
  const PrivacyCurve& curve_;
  double decay_;  // exp(-tilt * spacing)
  double below_;  // 1 - exp(-spacing)
  std::size_t point_;
  double sum_ = 0;  // over l > loss():  mass(l) exp(-tilt u) (1 - exp(-u)), u = l - loss()
  double weight_;   // over l >= loss(): mass(l) exp(-(tilt + 1) u)
};

PrivacyCurve::PrivacyCurve(const LossSum& sum, const Window& window, Bound bound, double lost)
    : bound_(bound), tilt_(window.tilt), lattice_(lattice_over(sum, window)) {
  const LossSum on_lattice = sum.on_lattice(bound, lattice_.spacing);
  loss_ = compose(on_lattice, tilt_, lattice_);

  const double high = lattice_.loss(lattice_.points);
  const double log_above = log_tail(on_lattice, tilt_, high, Side::above);
  const double rounding = loss_.error_norm * norm_of_weights(tilt_, lattice_);
  if (bound == Bound::up) {
    // Wrapped mass only adds to the sums; mass that wrapped down from above is counted in full
    // besides.
    loss_.log_scale += kErrorPerStep * sum.steps();
    slack_ = rounding;
    outside_ = lost + std::exp(std::min(0.0, loss_.log_scale - tilt_ * high + log_above));
  } else {
    const double log_below = log_tail(on_lattice, tilt_, lattice_.loss(0), Side::below);
    loss_.log_scale -= kErrorPerStep * sum.steps();
    slack_ = -rounding - std::exp(log_above) - std::exp(log_below);
    outside_ = 0;
  }
}

double PrivacyCurve::epsilon(double delta) const {
  Descent at(*this);
  if (at.delta() > delta) return std::numeric_limits<double>::infinity();
  double above = at.delta();
  while (at.descend()) {
    const double here = at.delta();
    if (here > delta) {
      // Between lattice points delta is linear in exp(epsilon).
      const double part = (here - delta) / (here - above);
      return std::max(0.0, at.loss() + std::log1p(part * std::expm1(lattice_.spacing)));
    }
    above = here;
    if (at.loss() <= 0) return 0;
  }
  return bound_ == Bound::up ? std::max(0.0, at.loss()) : 0.0;
}

double PrivacyCurve::delta(double epsilon) const {
  Descent at(*this);
  double above = at.delta();
  if (epsilon >= at.loss()) return above;
  while (at.descend()) {
    const double here = at.delta();
    if (at.loss() <= epsilon) {
      const double part = std::expm1(epsilon - at.loss()) / std::expm1(lattice_.spacing);
      return here + (above - here) * part;
    }
    above = here;
  }
  return bound_ == Bound::up ? 1.0 : above;
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLost = 1e-8;  // share of delta cut off in the noise's tails
constexpr double kSmallestDelta = 1e-200;
constexpr std::size_t kWindows = 7;       // windows that cover a whole curve
constexpr double kWorthTightness = 0.02;  // least noise at which a tight bound matters

double least_noise(const Ledger& ledger) {
  double least = kInfinity;
  for (const PrivacyEvent& event : ledger.events()) {
    least = std::min(least, noise_multiplier(event));
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
