#pragma once
// The tight accountant: privacy-loss distributions composed by Fourier transform.

#include <span>
#include <vector>

#include "lazydp/privacy/ledger.h"
#include "lazydp/privacy/pld/pld_compose.h"
#include "lazydp/privacy/pld/pld_sum.h"

namespace lazydp {

// The trade-off between epsilon and delta that a total privacy loss allows, bounded from one side.
//
// Counts every approximation to the side that its Bound names: the lattice, the mass cut off, the
// mass that falls outside the window and wraps around, and rounding.
class PrivacyCurve {
 public:
  // `lost` is the mass that the atoms of `sum` lack, over all steps.
  PrivacyCurve(const LossSum& sum, const Window& window, Bound bound, double lost);

  // Tight for the delta (epsilon) that the window was made for, a bound for any other. Returns
  // infinity (one) where the window proves nothing.
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

// Return upper bounds for adding or removing one example, never above rdp.h's. Up to a million
// steps epsilon is mostly within 1e-4 of the truth, relative, and within 1 % where steps rarely
// reveal anything (tiny sampling rates, little noise; an epsilon below 1e-3 may come out as one
// spacing of the lattice, about 1e-3); a schedule of thousands of different steps costs 0.3 % more.
// Every approximation is counted towards a larger epsilon: the discretisation ("connect the dots",
// Doroshenko et al. 2022), cut-off tails, wrap-around and rounding, the last two relative to delta,
// however small, because losses are first tilted to where delta is decided (the saddle point).
// `delta` in (0, 1), `epsilon` >= 0.
double pld_epsilon(const Ledger& ledger, double delta);
double pld_delta(const Ledger& ledger, double epsilon);

// Returns pld_delta of many epsilons, ascending, at the price of a few: bounds that are looser by
// some per mille than those computed one by one.
std::vector<double> pld_deltas(const Ledger& ledger, std::span<const double> epsilons);

// Return lower bounds by an independent discretisation: the truth lies between. For tests and for
// showing how tight the upper bounds are; never to be claimed. They compose phase by phase, hence
// are meant for ledgers of at most a hundred or so different mechanisms.
double pld_epsilon_lower(const Ledger& ledger, double delta);
double pld_delta_lower(const Ledger& ledger, double epsilon);

}  // namespace lazydp
