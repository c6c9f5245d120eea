#pragma once
// Tables under plain SGD, with or without weight decay: gradients at once, noise when the policy
// says.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lazydp/noise/catch_up.h"
#include "lazydp/noise/policies.h"
#include "lazydp/noise/settle_and_pool.h"
#include "lazydp/noise/table_optimizer.h"

namespace lazydp {

// A policy decides which of two parts a table has, and whether it is swept.
class SgdTables final : public TableOptimizer {
 public:
  // `tables`, `clock` and `noise` must outlive the optimizer.
  SgdTables(NoisePolicy policy, std::span<Table> tables, const VarianceClock& clock,
            const NoiseSource& noise, WeightDecay decay, NoisePasses passes = NoisePasses::fused);

  void apply(Step t, std::span<const TableGradient> gradients, StageClock& stages) override;
  void settle(Step t, std::span<const Ids> ids, StageClock& stages) override;
  void settle_and_pool(Step t, std::span<const Bags> bags, Pooling mode,
                       std::span<const MatrixView> pooled, StageClock& stages) override;
  void settle_all(Step t, const std::function<void(std::uint64_t rows)>& progress = {}) override;
  void settle_copy(Step t, std::size_t table, RowId first, RowId last, Table& window) override;
  std::span<Step> settled_through(std::size_t table) override;
  std::vector<TableState> state(std::size_t /*table*/) override { return {}; }
  std::size_t bytes() const override;

 private:
  struct Update {
    std::unique_ptr<WaitingRows> on_read;      // settle before they are read
    std::unique_ptr<WaitingRows> on_gradient;  // settle at once when they have a gradient
  };
  // The late rows of one task; the vector is reused from step to step.
  struct Late {
    std::size_t table = 0;
    std::vector<LateRow> rows;
  };

  void take_step(Step t, std::span<const TableGradient> gradients, StageClock& stages);
  void catch_up(std::unique_ptr<WaitingRows> Update::*part, Step t, std::span<const Ids> ids,
                StageClock& stages);
  void sweep_all(Step t, StageClock& stages);
  void settle_in_turn(Step t, StageClock& stages);

  const VarianceClock& clock_;
  std::unique_ptr<NoiseWriter> writer_;
  const PolicyTraits& policy_;
  bool fused_;  // rows are pooled while they are still in the cache from settling
  std::vector<Update> updates_;
  std::unique_ptr<CatchUp> sweep_;  // how every row receives the noise of each step, if so
  std::vector<Late> late_;
  std::vector<Ids> with_gradient_;
  std::vector<Ids> to_read_;
  std::vector<TableSettler> reading_;
};

}  // namespace lazydp
