#include "lazydp/python/table_group.h"

#include <algorithm>
#include <string>

#include "lazydp/base/error.h"

namespace lazydp {

TableGroup::TableGroup(const NoiseSource& noise, NoisePolicy policy, bool with_momentum,
                       bool decays)
    : noise_(noise), policy_(policy), with_momentum_(with_momentum), decays_(decays) {}

std::size_t TableGroup::add(const TableMemory& memory) {
  check(with_momentum_ == !memory.momentum.empty(), "a momentum where the rule has one");
  check(now() == 0, "tables are added before the first step");
  tables_.push_back(with_momentum_ ? bind_table(policy_, memory, momentum_clock_, noise_)
                                   : bind_table(policy_, memory, clock_, noise_, decays_));
  return tables_.size() - 1;
}

void TableGroup::require(const MomentumStep& rule) const {
  if (with_momentum_) return;
  if (rule.momentum != 0.0) {
    throw UserError("momentum is " + std::to_string(rule.momentum) +
                    " but was 0 at make_private; set it before, so that rows keep a momentum");
  }
  if (rule.weight_decay != 0.0 && !decays_) {
    throw UserError("weight_decay is " + std::to_string(rule.weight_decay) +
                    " but was 0 at make_private; set it before, so that rows wait for it");
  }
  if (!(rule.learning_rate * rule.weight_decay < 1.0)) {
    throw UserError("lr x weight_decay is " +
                    std::to_string(rule.learning_rate * rule.weight_decay) +
                    "; for tables it must be below 1");
  }
}

Step TableGroup::open(const MomentumStep& rule) {
  require(rule);
  if (with_momentum_) return momentum_clock_.open(rule);
  return clock_.open(rule.learning_rate / rule.divisor, rule.noise_std,
                     1.0 - rule.learning_rate * rule.weight_decay);
}

void TableGroup::apply(std::size_t table, const TableGradient& gradient) {
  tables_.at(table)->apply(now(), gradient);
}

void TableGroup::settle(std::size_t table, std::span<const RowId> ids) {
  tables_.at(table)->settle(now(), ids);
}

void TableGroup::settle_all() {
  for (const auto& table : tables_) table->settle_all(now());
}

void TableGroup::settle_all(std::size_t table) {
  tables_.at(table)->settle_all(now());
}

void TableGroup::forget_debts(std::size_t table) {
  tables_.at(table)->forget_debts(now());
}

bool TableGroup::all_settled() const {
  return std::ranges::all_of(tables_,
                             [this](const auto& table) { return table->all_settled(now()); });
}

}  // namespace lazydp
