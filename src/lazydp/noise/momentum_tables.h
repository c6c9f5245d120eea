#pragma once
// How a table with momentum takes a step: like table_updates.h, for pairs of momentum and weight.

#include <span>
#include <vector>

#include "lazydp/embedding/pooling.h"
#include "lazydp/embedding/table.h"
#include "lazydp/noise/history.h"
#include "lazydp/noise/policy.h"
#include "lazydp/noise/settle_guard.h"
#include "lazydp/noise/variance_clock.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

// Invariant: a row that has been settled through t carries, in momentum and in weight, all the
// noise and all the drift of steps 1 … t. Momentum moves a row at every step, so a row with a
// gradient is settled through its step at once: nothing has to be divided out beforehand. Should
// settling fail part-way, every later call throws InternalError.
class MomentumUpdates {
 public:
  // All of them outlive this; `momentum` has the shape of `weights`.
  MomentumUpdates(NoisePolicy policy, Table& weights, Table& momentum, const MomentumClock& clock,
                  const NoiseSource& noise);

  // Takes the open step t with a gradient whose rows were settled through t - 1.
  void apply(Step t, const TableGradient& gradient);

  // On return every row that `ids` names is settled through t.
  void settle(Step t, std::span<const RowId> ids);
  void settle_all(Step t);

  History& history() {
    guard_.require_whole();
    return history_;
  }

 private:
  // Which noise a row receives when it catches up.
  enum class Pay { none, last_step, each_step, aggregated };

  void catch_up(Step t, std::span<const RowId> ids, Pay pay);
  void catch_up_all(Step t);
  void pay_rows(const RunsThrough<Drift>& drifts, std::span<const LateRow> late, Pay pay);
  void pay_aggregated(const RunsThrough<Drift>& drifts, std::span<const LateRow> late);
  void pay_one_step(Step t, const Drift& drift, std::span<const LateRow> late);
  void drift_only(const RunsThrough<Drift>& drifts, std::span<const LateRow> late);

  Table& weights_;
  Table& momentum_;
  const MomentumClock& clock_;
  const NoiseSource& noise_;
  bool every_row_;
  Pay on_read_;
  Pay on_gradient_;
  History history_;
  std::vector<std::vector<LateRow>> late_;
  SettleGuard guard_;
};

}  // namespace lazydp
