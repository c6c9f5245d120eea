#pragma once
// Eager noise: a step's noise on every row of a table, as DP-SGD is written.

#include "lazydp/embedding/table.h"
#include "lazydp/noise/clock.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

// Rows [first, last) <- shrink * row + noise of step t.
void sweep(Table& table, const VarianceClock& clock, const NoiseSource& noise, Step t, RowId first,
           RowId last);

}  // namespace lazydp
