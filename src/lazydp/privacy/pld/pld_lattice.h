#pragma once
// Moves loss atoms onto a lattice, so that sums of losses can be composed by Fourier transform.

#include "lazydp/privacy/pld/pld_loss.h"

namespace lazydp {

// The same distribution on multiples of `spacing`, bounded from the side that `bound` names.
LossAtoms on_lattice(const LossAtoms& atoms, Bound bound, double spacing);

}  // namespace lazydp
