#pragma once
// How a late row receives what it missed: debts become draws, in four ways.

#include <functional>
#include <memory>
#include <span>

#include "lazydp/embedding/table.h"
#include "lazydp/noise/history.h"
#include "lazydp/noise/variance_clock.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

// rows[i] <- due[i].shrink * rows[i] + due[i].std * normals, those of cell (row, step).
struct Draw {
  Draws draws = Draws::each_step;
  Step step = 0;
  std::span<const LateRow> rows;
  std::span<const Due> due;
};

class CatchUp {
 public:
  explicit CatchUp(RowId rows) : history_(rows) {}
  virtual ~CatchUp() = default;

  History& history() { return history_; }

  // The draws that bring rows, claimed for step debts.through(), up to date, one after the other.
  // At most kRowsAtATime rows.
  virtual void for_each_draw(const Debts& debts, std::span<const LateRow> late,
                             const std::function<void(const Draw&)>& visit) const = 0;

  static constexpr std::size_t kRowsAtATime = 256;  // 128 KB of rows of 128 floats

 private:
  History history_;
};

// One Gaussian with the variance of all that was missed: aggregated noise sampling.
std::unique_ptr<CatchUp> make_aggregated(RowId rows);

// The very noises that eager DP-SGD would have added, one by one and in their order.
std::unique_ptr<CatchUp> make_each_step(RowId rows);

// Weight decay alone: there is no noise.
std::unique_ptr<CatchUp> make_decay_only(RowId rows);

// The noise of step t alone, for rows that have just received a gradient; what they missed before
// is never made up for. EANA (Ning et al. 2022); no privacy is claimed for it.
std::unique_ptr<CatchUp> make_this_step_only(RowId rows);

// Adds one draw, whose cells are given, to the rows of a table.
void add_draw(Table& table, const NoiseCells& cells, const Draw& draw);

}  // namespace lazydp
