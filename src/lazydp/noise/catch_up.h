#pragma once
// Turns what a late row is owed into draws of noise.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "lazydp/noise/correlation.h"
#include "lazydp/noise/history.h"
#include "lazydp/noise/policies.h"
#include "lazydp/noise/variance_clock.h"
#include "lazydp/random/cell.h"

namespace lazydp {

// One draw for one row: row <- term.shrink * row + term.std * normals of the cell (row, kind,
// step).
struct Draw {
  std::uint32_t place = 0;  // of the row, among the late rows that catch up with it
  CellKind kind = CellKind::each_step;
  Step step = 0;
  NoiseTerm term = {1.0f, 0.0f};
};

// A way in which late rows receive what they missed.
class CatchUp {
 public:
  virtual ~CatchUp() = default;

  // Calls `visit` with the draws that bring `late` up to date, at most kDrawsAtATime at a time, in
  // the order in which they must be added. Of the draws of one row that are visited together, only
  // the first shrinks it. The rows, at most kRowsAtATime, have been claimed for step
  // owed.through().
  using Visit = std::function<void(std::span<const Draw>)>;
  virtual void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                             const Visit& visit) const = 0;

  static constexpr std::size_t kRowsAtATime = 256;  // 128 KB of rows of 128 floats
  static constexpr std::size_t kDrawsAtATime = 256;
};

// Makes a way to catch up. `this_step` is EANA (Ning et al. 2022), for which no privacy is claimed.
// Correlated noise can be caught up with in the two ways that miss none of it.
std::unique_ptr<CatchUp> make_catch_up(Missed missed, const Correlation& correlation);

// The rows of a table that wait, and the way in which they catch up.
struct WaitingRows {
  WaitingRows(RowId rows, std::unique_ptr<CatchUp> how) : history(rows), catch_up(std::move(how)) {}

  History history;
  std::unique_ptr<CatchUp> catch_up;
};

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
