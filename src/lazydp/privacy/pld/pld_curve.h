#pragma once
// The trade-off between epsilon and delta that a total privacy loss allows, bounded from one side.

#include "lazydp/privacy/pld/pld_compose.h"
#include "lazydp/privacy/pld/pld_window.h"

namespace lazydp {

// Counts all that was approximated to the side its Bound names: the lattice, the mass cut off, what
// falls outside the window and wraps around, and rounding.
class PrivacyCurve {
 public:
  // `lost`: the mass that the atoms of `sum` lack, over all steps.
  PrivacyCurve(const LossSum& sum, const Window& window, Bound bound, double lost);

  // Tight for the delta (epsilon) that the window was made for, a bound for any other. Infinity
  // (one) where the window proves nothing.
  double epsilon(double delta) const;
  double delta(double epsilon) const;

 private:
  class Descent;

  Bound bound_;
  double tilt_;
  Lattice lattice_;
  ComposedLoss loss_;
  double slack_;    // added to the tilted sums
  double outside_;  // added to delta
};

}  // namespace lazydp
