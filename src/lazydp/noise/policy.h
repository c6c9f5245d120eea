#pragma once
// Decides when the rows of a table receive their noise.

#include <cstdint>

namespace lazydp {

// When the rows of a table receive their noise: all that tells the algorithms apart once gradients
// are clipped.
enum class NoisePolicy : std::uint8_t {
  none,             // SGD
  every_row,        // DP-SGD: each step writes the whole table
  touched_rows,     // EANA: only rows with a gradient. Not differentially private as DP-SGD is
  lazy_each_step,   // LazyDP without aggregated sampling: one draw for each missed step
  lazy_aggregated,  // LazyDP: one draw for a whole run of missed steps
};

}  // namespace lazydp
