#pragma once
// Catches up with correlated noise: draws again the cells that earlier steps have shown a row.

#include <memory>

#include "lazydp/noise/catch_up.h"

namespace lazydp {

// Makes a way to catch up with the noise of steps that is correlated. `each_step` draws every cell
// by itself; `aggregated` draws as one normal the cells that only missed steps use, and by itself
// each of the fewer than two times `bands` cells that other steps use as well.
//
// A cell that is ever drawn by itself is never part of such a normal. Let a row be settled through
// h, and then through t. The cells that it shares with steps after h are those after h - b + 1;
// when the row was settled through h, whatever it was settled through before, these were drawn by
// themselves, or were not yet new.
std::unique_ptr<CatchUp> make_correlated_catch_up(Missed missed);

}  // namespace lazydp
