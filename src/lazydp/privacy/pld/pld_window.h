#pragma once
// Where to look at a total privacy loss, how finely, and through which glass.

#include <cstddef>

#include "lazydp/privacy/pld/pld_sum.h"

namespace lazydp {

// Tilted by exp(tilt * loss), the losses that decide delta are the likely ones, so rounding and
// cut-off errors are small *relative to delta*, however small it is. Outside (low, high) the tilted
// loss hardly ever falls.
struct Window {
  double tilt, low, high;
};
Window window_for_delta(const LossSum& sum, double delta);
Window window_for_epsilon(const LossSum& sum, double epsilon);

// Chernoff: the log of a bound on the tilted probability of a total loss >= edge, or <= edge.
enum class Side { above, below };
double log_tail(const LossSum& sum, double tilt, double edge, Side side);

// The lattice points a window needs, a power of two: as many as make the lattice hardly move
// epsilon, within what time and memory allow.
std::size_t lattice_size(const LossSum& sum, const Window& window);

}  // namespace lazydp
