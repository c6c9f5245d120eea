#pragma once
// The total privacy loss of a run: independent steps, each with the loss of its phase.

#include <cstddef>
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

  // Returns, for each phase, its shares after tilting: those of the tilted mixture of tilted nodes.
  std::vector<Phase> tilted_phases(double tilt) const;

  LossSum on_lattice(Bound bound, double spacing) const;
};

LossSum loss_sum(const Phases& phases, Direction direction, Bound bound, double reach);

// The interval of a total privacy loss to compute, and the tilt under which to compute it.
//
// Tilted by exp(tilt * loss), the losses that decide delta are the likely ones, so rounding and
// cut-off errors are small *relative to delta*, however small it is. Outside (low, high) the tilted
// loss hardly ever falls.
struct Window {
  double tilt, low, high;
};
Window window_for_delta(const LossSum& sum, double delta);
Window window_for_epsilon(const LossSum& sum, double epsilon);

// Returns the log of a Chernoff bound on the tilted probability of a total loss >= edge, or <=
// edge.
enum class Side { above, below };
double log_tail(const LossSum& sum, double tilt, double edge, Side side);

// Returns the number of lattice points that a window needs, a power of two: enough that the lattice
// hardly changes epsilon, within what time and memory allow.
std::size_t lattice_size(const LossSum& sum, const Window& window);

}  // namespace lazydp
