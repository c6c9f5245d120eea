#include "lazydp/privacy/pld/pld_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lazydp {
namespace {

constexpr double kErrorPerStep = 1e-12;  // relative, of an atom's mass and of a moment

Lattice lattice_over(const LossSum& sum, const Window& window) {
  const std::size_t points = lattice_size(sum, window);
  const double spacing = (window.high - window.low) / static_cast<double>(points);
  const double first = std::floor((window.low - sum.shift) / spacing);
  return {sum.shift, spacing, first, points};
}

// L2 norm of f(u) = exp(-tilt u) (1 - exp(-u)) <= exp(-tilt u) min(1, u) over the lattice, u > 0:
// the largest value and the integral of the square.
double norm_of_weights(double tilt, const Lattice& lattice) {
  const double width = lattice.spacing * static_cast<double>(lattice.points);
  const double largest = std::min({1.0, width, 1 / (1 + tilt)});
  const double integral =
      std::min({width * largest * largest, 1 / (2 * tilt), 1 / (4 * tilt * tilt * tilt)});
  return std::sqrt(largest * largest + integral / lattice.spacing);
}

}  // namespace

// delta(e) = sum over losses l > e of P(l) (1 - exp(e - l)), at lattice points from the highest
// down. Sums are scaled to the current point, and but for rounding all terms are positive: nothing
// overflows, nothing cancels.
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
    // Wrapped mass only adds to the sums; what wrapped down from above is counted in full besides.
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

}  // namespace lazydp
