#pragma once
// Tables under SGD with momentum: every weight has a momentum, which waits for noise as the weight
// does.

#include <functional>
#include <span>
#include <vector>

#include "lazydp/noise/history.h"
#include "lazydp/noise/policies.h"
#include "lazydp/noise/table_optimizer.h"

namespace lazydp {

// Momentum moves a row at every step, so a row with a gradient is settled through its step at once:
// its gradient needs no division by the step's shrink beforehand.
class MomentumTables final : public TableOptimizer {
 public:
  // `weights`, `clock` and `noise` must outlive the optimizer, which owns the momenta: zeros at
  // first.
  MomentumTables(NoisePolicy policy, std::span<Table> weights, const MomentumClock& clock,
                 const NoiseSource& noise);

  // Uses the caller's momenta: one table for each of `weights`, of the same shape.
  MomentumTables(NoisePolicy policy, std::span<Table> weights, std::vector<Table> momenta,
                 const MomentumClock& clock, const NoiseSource& noise);

  void apply(Step t, std::span<const TableGradient> gradients, StageClock& stages) override;
  void settle(Step t, std::span<const Ids> ids, StageClock& stages) override;
  void settle_and_pool(Step t, std::span<const Bags> bags, Pooling mode,
                       std::span<const MatrixView> pooled, StageClock& stages) override;
  void settle_all(Step t, const std::function<void(std::uint64_t rows)>& progress = {}) override;
  void settle_copy(Step t, std::size_t table, RowId first, RowId last, Table& window) override;
  std::span<Step> settled_through(std::size_t table) override;
  std::vector<TableState> state(std::size_t table) override;
  std::size_t bytes() const override;

 private:
  std::span<float> momentum(std::size_t table);
  void catch_up(Step t, std::size_t table, Ids ids, Missed missed);
  void catch_up_range(Step t, std::size_t table, RowId first, RowId last);

  const PolicyTraits& policy_;
  std::vector<Table> momenta_;
  const MomentumClock& clock_;
  const NoiseSource& noise_;
  std::vector<History> histories_;
  std::vector<std::vector<LateRow>> late_;
};

}  // namespace lazydp
