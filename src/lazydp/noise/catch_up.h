#pragma once
// Turns what a late row is owed into draws of noise, in four ways.

#include <functional>
#include <memory>
#include <span>

#include "lazydp/embedding/table.h"
#include "lazydp/noise/history.h"
#include "lazydp/noise/policies.h"
#include "lazydp/noise/variance_clock.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

// One draw for a few rows: rows[i] <- terms[i].shrink * rows[i] + terms[i].std * normals of the
// cell (row, step).
struct Draw {
  CellKind kind = CellKind::each_step;
  Step step = 0;
  std::span<const LateRow> rows;
  std::span<const NoiseTerm> terms;
};

// The history of one table, and the way in which its late rows receive what they missed.
class CatchUp {
 public:
  explicit CatchUp(RowId rows) : history_(rows) {}
  virtual ~CatchUp() = default;

  History& history() { return history_; }

  // Calls `visit` with the draws that bring `late` up to date, one after the other. The rows, at
  // most kRowsAtATime, have been claimed for step owed.through().
  virtual void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                             const std::function<void(const Draw&)>& visit) const = 0;

  static constexpr std::size_t kRowsAtATime = 256;  // 128 KB of rows of 128 floats

 private:
  History history_;
};

// Makes a CatchUp for a table of `rows` rows. `this_step` is EANA (Ning et al. 2022), for which no
// privacy is claimed.
std::unique_ptr<CatchUp> make_catch_up(Missed missed, RowId rows);

// Adds one draw to the rows of a table; `cells` are those of the draw.
void add_draw(Table& table, const NoiseCells& cells, const Draw& draw);

}  // namespace lazydp
