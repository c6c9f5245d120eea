#pragma once
// The total privacy loss of a run: independent steps, each with the loss of its phase.

#include <vector>

#include "lazydp/privacy/phases.h"
#include "lazydp/privacy/pld/pld_loss.h"

namespace lazydp {

// Total loss = shift + the sum of the steps' atoms. The atoms are centred, so that on a lattice the
// many steps that reveal next to nothing sit on a point and need no rounding.
struct LossSum {
  std::vector<LossAtoms> nodes;
  std::vector<Phase> phases;
  double shift;

  double steps() const;
  bool mixes_nodes() const;
  Cumulant cumulant(double tilt) const;

  // For each phase its shares after tilting: those of the tilted mixture of tilted nodes.
  std::vector<Phase> tilted_phases(double tilt) const;

  LossSum on_lattice(Bound bound, double spacing) const;
};

LossSum loss_sum(const Phases& phases, Direction direction, Bound bound, double reach);

}  // namespace lazydp
