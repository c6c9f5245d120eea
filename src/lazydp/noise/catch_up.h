#pragma once
// How a late row receives what it missed: owed become draws, in four ways.

#include <functional>
#include <memory>
#include <span>

#include "lazydp/embedding/table.h"
#include "lazydp/noise/history.h"
#include "lazydp/noise/policies.h"
#include "lazydp/noise/variance_clock.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

// rows[i] <- terms[i].shrink * rows[i] + terms[i].std * normals, those of cell (row, step).
struct Draw {
  CellKind kind = CellKind::each_step;
  Step step = 0;
  std::span<const LateRow> rows;
  std::span<const NoiseTerm> terms;
};

class CatchUp {
 public:
  explicit CatchUp(RowId rows) : history_(rows) {}
  virtual ~CatchUp() = default;

  History& history() { return history_; }

  // The draws that bring rows, claimed for step owed.through(), up to date, one after the other.
  // At most kRowsAtATime rows.
  virtual void for_each_draw(const OwedThrough& owed, std::span<const LateRow> late,
                             const std::function<void(const Draw&)>& visit) const = 0;

  static constexpr std::size_t kRowsAtATime = 256;  // 128 KB of rows of 128 floats

 private:
  History history_;
};

// For a table of so many rows. `this_step` is EANA (Ning et al. 2022), for which no privacy is
// claimed.
std::unique_ptr<CatchUp> make_catch_up(Missed missed, RowId rows);

// Adds one draw, whose cells are given, to the rows of a table.
void add_draw(Table& table, const NoiseCells& cells, const Draw& draw);

}  // namespace lazydp
