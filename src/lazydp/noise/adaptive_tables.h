#pragma once
// Tables under Adam or Adagrad, for training without privacy.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lazydp/base/memory.h"
#include "lazydp/noise/history.h"
#include "lazydp/noise/table_optimizer.h"

namespace lazydp {

// Counts steps. No row waits, so nothing of a step that is over is needed again; checkpoints keep
// its learning rate.
class RateClock final : public StepClock {
 public:
  void reserve(Step steps) override { rates_.reserve(steps); }
  Step open(const TableStep& step) override;
  Step now() const override { return static_cast<Step>(rates_.size()); }
  std::size_t numbers_a_step() const override { return 1; }
  std::vector<double> numbers() const override { return rates_; }
  void restore(std::span<const double> numbers, Step before_block) override;
  void restore_settled(Step steps) override;
  Step before_block() const override { return before_block_; }

  double rate() const { return rates_.back(); }  // of the open step
  double divisor() const { return divisor_; }

 private:
  std::vector<double> rates_;
  double divisor_ = 1.0;
  Step before_block_ = 0;
};

// Steps move the rows of the batch alone, as torch.optim.SparseAdam and torch.optim.Adagrad do with
// sparse gradients: a row that is not looked up keeps its weights, its moments and its sum of
// squares; Adam's correction of the bias counts all steps.
//
// The rules are not linear in a row's gradient, so the gradients of all look-ups of a row are added
// up before it moves. And a row that waited for noise could not make up for what it missed:
// NoisePolicy::none only.
class AdaptiveTables final : public TableOptimizer {
 public:
  // `tables` and `clock` must outlive the optimizer.
  AdaptiveTables(TableRule rule, std::span<Table> tables, const RateClock& clock);

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
  // What is remembered of one table. The history only finds the distinct rows of a batch; a row's
  // gradients are added up in the slot places[row] - 1 of `sums`.
  struct Memory {
    Memory(const Table& table, TableRule rule);

    std::span<float> floats(std::size_t which, RowId row, std::size_t dim) const {
      return {static_cast<float*>(states[which].data()) + static_cast<std::size_t>(row) * dim, dim};
    }

    History seen;
    HugeMemory places;
    std::vector<HugeMemory> states;
  };

  void find_rows(Step t, std::size_t table, Ids ids);
  void move_rows(Step t, std::size_t table, const TableGradient& gradient);
  void move(Step t, std::size_t table, RowId row, std::span<const float> gradient);

  TableRule rule_;
  const RateClock& clock_;
  std::vector<Memory> memory_;
  std::vector<std::vector<LateRow>> rows_;  // of the batch, by share; reused from step to step
  std::vector<float> sums_;
};

}  // namespace lazydp
