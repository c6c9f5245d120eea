#pragma once
// The privacy loss log(P/Q) of one step, as atoms that bound the mechanism from one chosen side.

#include <vector>

#include "lazydp/privacy/phases.h"

namespace lazydp {

// The data set whose outputs are weighed: the one with the example (removing it makes likely
// outputs unlikely), or the one without it.
enum class Direction { remove, add };

// up: dominates the mechanism, so epsilon is an upper bound. down: the mechanism dominates it.
enum class Bound { up, down };

// P gives mass exp(log_mass[i]) to outputs whose loss is loss[i], in order of loss. The mass that
// is missing to 1 was cut off in the far tails.
struct LossAtoms {
  std::vector<double> loss;
  std::vector<double> log_mass;
};

// Return the atoms of one step whose noise is cut off at `reach` standard deviations, and a bound
// on the mass that this loses, in either direction.
LossAtoms loss_atoms(const Node& node, Direction direction, Bound bound, double reach);
double mass_beyond(double reach);

// log E_P[exp(tilt * loss)], its first and second derivative in `tilt`: the mean and variance of
// the loss under P tilted by exp(tilt * loss).
struct Cumulant {
  double value, mean, variance;
};
Cumulant cumulant(const LossAtoms& atoms, double tilt);

// Moves the atoms onto multiples of `spacing`, bounded from the side that `bound` names, so that
// sums of losses can be composed by Fourier transform.
LossAtoms on_lattice(const LossAtoms& atoms, Bound bound, double spacing);

}  // namespace lazydp
