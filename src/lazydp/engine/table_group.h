#pragma once
// Tables in borrowed memory that take private steps together: the engine under liblazydp and the
// Python package.

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "lazydp/noise/table_optimizer.h"

namespace lazydp {

// The borrowed memory of one table. It must not move, and must outlive the group.
struct TableMemory {
  TableId id = 0;
  std::span<float> weights;
  std::span<float> momentum;  // empty unless the group's rule is momentum
  std::size_t dim = 0;
  std::optional<RowId> padding;  // a row that receives neither gradients nor noise
};

// Tables share a learning rate, hence a clock. They are named by the order in which they were
// added.
//
// Calls for one table from several threads wait for each other. A row that is settled through the
// open step does not move again until the next step, so a thread that has settled rows may read
// them without waiting.
class TableGroup {
 public:
  // `options` say which steps may come, and so what rows wait for.
  TableGroup(const NoiseSource& noise, const TableOptimizerOptions& options);
  ~TableGroup();
  TableGroup(const TableGroup&) = delete;  // tables refer to its clock
  TableGroup& operator=(const TableGroup&) = delete;

  std::size_t add(const TableMemory& memory);

  // Throws UserError for a step that the group was not made for.
  void require(const TableStep& step) const;

  // Opens the next step for all tables. Throws as require() does.
  Step open(const TableStep& step);

  // Takes the open step on one table. Every table takes every step, with or without a gradient.
  void apply(std::size_t table, const TableGradient& gradient);

  // Takes the open step on several tables: side by side, unless one has most of the work.
  struct Update {
    std::size_t table = 0;
    TableGradient gradient;
  };
  void apply(std::span<const Update> updates);

  // On return these rows, or all rows, carry the noise of all steps so far.
  void settle(std::size_t table, std::span<const RowId> ids);
  void settle_and_pool(std::size_t table, const Bags& bags, Pooling mode, MatrixView pooled);
  void settle_all(std::size_t table);
  void settle_all();

  // Marks every row as settled: the caller has just replaced its weights.
  void forget_debts(std::size_t table);

  bool all_settled() const;
  Step now() const { return clock_->now(); }
  std::size_t size() const { return tables_.size(); }
  RowId rows(std::size_t table) const;
  std::size_t dim(std::size_t table) const;

 private:
  class BoundTable;

  NoiseSource noise_;
  TableOptimizerOptions options_;
  std::unique_ptr<StepClock> clock_;
  std::vector<std::unique_ptr<BoundTable>> tables_;
};

}  // namespace lazydp
