#pragma once
// The tables of one parameter group: they share a learning rate, hence a clock.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "lazydp/noise/variance_clock.h"
#include "lazydp/python/bound_table.h"

namespace lazydp {

// Tables are named by the order in which they were added.
class TableGroup {
 public:
  // `with_momentum` and `decays` say what rules may come: they decide what rows wait for.
  TableGroup(const NoiseSource& noise, NoisePolicy policy, bool with_momentum, bool decays);
  TableGroup(const TableGroup&) = delete;  // tables refer to its clocks
  TableGroup& operator=(const TableGroup&) = delete;

  std::size_t add(const TableMemory& memory);

  // Throws UserError for a rule the group was not made for.
  void require(const MomentumStep& rule) const;

  // Opens the next step for all tables. Throws as require() does.
  Step open(const MomentumStep& rule);

  // The open step, of one table. Every table takes every step, with or without a gradient.
  void apply(std::size_t table, const TableGradient& gradient);

  // On return these rows, or all rows of all tables, carry the noise of all steps so far.
  void settle(std::size_t table, std::span<const RowId> ids);
  void settle_all();
  void settle_all(std::size_t table);

  void forget_debts(std::size_t table);
  bool all_settled() const;
  Step now() const { return with_momentum_ ? momentum_clock_.now() : clock_.now(); }
  RowId rows(std::size_t table) const { return tables_.at(table)->rows(); }
  std::size_t dim(std::size_t table) const { return tables_.at(table)->dim(); }

 private:
  NoiseSource noise_;
  NoisePolicy policy_;
  bool with_momentum_;
  bool decays_;
  VarianceClock clock_;
  MomentumClock momentum_clock_;
  std::vector<std::unique_ptr<BoundTable>> tables_;
};

}  // namespace lazydp
