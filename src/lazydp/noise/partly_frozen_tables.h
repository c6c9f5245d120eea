#pragma once
// Tables of which some keep their weights: these owe nothing and receive nothing.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lazydp/noise/table_optimizer.h"

namespace lazydp {

// Hands the other tables to an optimizer that knows of no others. A frozen table has no history: it
// is settled through every step.
class PartlyFrozenTables final : public TableOptimizer {
 public:
  // `trained` are views of those of `tables` that `frozen`, ascending, does not name, and are what
  // `optimizer` steps. `tables` must outlive this object.
  PartlyFrozenTables(std::span<Table> tables, std::span<const std::size_t> frozen,
                     std::vector<Table> trained, std::unique_ptr<TableOptimizer> optimizer);

  void apply(Step t, std::span<const TableGradient> gradients, StageClock& stages) override;
  void settle(Step t, std::span<const Ids> ids, StageClock& stages) override;
  void settle_and_pool(Step t, std::span<const Bags> bags, Pooling mode,
                       std::span<const MatrixView> pooled, StageClock& stages) override;
  void settle_all(Step t, const std::function<void(std::uint64_t rows)>& progress = {}) override;
  void settle_copy(Step t, std::size_t table, RowId first, RowId last, Table& window) override;
  std::span<Step> settled_through(std::size_t table) override;
  std::vector<TableState> state(std::size_t table) override;
  std::size_t bytes() const override { return optimizer_->bytes(); }

 private:
  static constexpr std::size_t kFrozen = ~std::size_t{0};

  std::vector<std::size_t> place_;  // of each table among those that train; kFrozen: it does not
  std::vector<Table> trained_;
  std::unique_ptr<TableOptimizer> optimizer_;
  std::vector<TableGradient> gradients_;  // reused from step to step
  std::vector<Ids> ids_;
};

// Returns views of the tables that `frozen`, ascending, does not name.
std::vector<Table> trained_tables(std::span<Table> tables, std::span<const std::size_t> frozen);

}  // namespace lazydp
