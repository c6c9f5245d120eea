#pragma once
// How much each noise cell weighs in what a late row is owed, where the noise of steps is
// correlated.

#include <array>
#include <cstddef>
#include <span>

#include "lazydp/base/types.h"
#include "lazydp/noise/correlation.h"
#include "lazydp/noise/owed.h"

namespace lazydp {

// Returns what the latest step makes of the one cell that no later step uses: its variance is the
// square of all that the cell weighed in the steps that used it. Composed over a run of steps (by
// `then`), that is what cells weigh which the run alone uses.
Owed last_use(const Correlation& correlation, const StepRanges<Owed>& steps);

// A row that is settled through h and read at t is owed the sum over cells k of a_k z_k,
//
//   a_k = sum over steps i, h < i <= t and k <= i < k + b, of s_i d_{i-k} S(i, t),
//
// where s_i is the deviation of the noise of step i on a weight, and S(i, t) the product of the
// shrinks of steps i + 1, …, t. Answers for many rows at one moment t. Cells fall into three runs:
//
//   first_cell(h + 1) … h          some of their steps have come before: single cells, drawn again
//   h + 1 … t - b + 1              no step but those owed uses them: one normal for all of them
//   max(h, t - b + 1) + 1 … t      steps to come use them again: single cells
class CellWeights {
 public:
  // `steps` owes a row what independent noise would; `last_uses` composes last_use() of each step.
  // All must outlive this.
  CellWeights(const Correlation& correlation, const RangesEndingAt<Owed>& steps,
              const StepRanges<Owed>& last_uses);

  const Correlation& correlation() const { return correlation_; }

  // Writes a_k to out[k - first] for the cells k = first … last, at most kMostBands of them, of a
  // row that is settled through `after`.
  void of_cells(Step after, Step first, Step last, std::span<double> out) const;

  // Returns whether the second run has any cells.
  bool some_at_once(Step after) const { return bands().size() <= steps_.through() - after; }

  // Returns the sum of a_k^2 over the second run, which has cells; and its root.
  double variance_at_once(Step after) const {
    return last_uses_.since(after + static_cast<Step>(bands().size()) - 1).variance;
  }
  float deviation_at_once(Step after) const {
    return last_uses_.term_since(after + static_cast<Step>(bands().size()) - 1).std;
  }

  // Returns a_k of a cell of the third run: it is the same for all rows.
  double of_recent(Step cell) const { return recent_[steps_.through() - cell]; }

 private:
  using Moves = std::array<double, 2 * Correlation::kMostBands>;

  std::span<const double> bands() const { return correlation_.bands(); }
  void moves_of(Step first, Step last, Moves& moves) const;

  const Correlation& correlation_;
  const RangesEndingAt<Owed>& steps_;
  TermsEndingAt last_uses_;
  std::array<double, TermsEndingAt::kMostRecent> recent_moves_;  // s_i S(i, t) of recent steps i
  std::array<double, Correlation::kMostBands> recent_;           // [t - k]
};

}  // namespace lazydp
