#include "lazydp/engine/table_group.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/memory.h"
#include "lazydp/base/parallel.h"
#include "lazydp/base/stages.h"
#include "lazydp/noise/momentum_tables.h"
#include "lazydp/noise/policies.h"
#include "lazydp/noise/sgd_tables.h"

namespace lazydp {
namespace {

// Makes an optimizer of one table that settles by the group's clock.
std::unique_ptr<TableOptimizer> make_optimizer(const TableOptimizerOptions& options,
                                               std::span<Table> table, const TableMemory& memory,
                                               const StepClock& clock, const NoiseSource& noise) {
  if (options.rule == TableRule::sgd) {
    return std::make_unique<SgdTables>(options.policy, table,
                                       dynamic_cast<const VarianceClock&>(clock), noise,
                                       options.decay, options.passes);
  }
  std::vector<Table> momenta;
  momenta.push_back(Table::borrow(memory.id, memory.momentum, memory.dim));
  return std::make_unique<MomentumTables>(options.policy, table, std::move(momenta),
                                          dynamic_cast<const MomentumClock&>(clock), noise);
}

}  // namespace

class TableGroup::BoundTable {
 public:
  BoundTable(const TableOptimizerOptions& options, const TableMemory& memory,
             const StepClock& clock, const NoiseSource& noise)
      : weights_(Table::borrow(memory.id, memory.weights, memory.dim)),
        padding_(memory.padding),
        optimizer_(make_optimizer(options, {&weights_, 1}, memory, clock, noise)) {}

  const Table& weights() const { return weights_; }

  void apply(Step t, const TableGradient& gradient) {
    const std::lock_guard lock(guard_);
    but_for_padding([&] { optimizer_->apply(t, {&gradient, 1}, stages_); });
  }

  // The caller may settle rows ahead of their use, and may also name the padding row.
  void settle(Step t, Ids ids) {
    const std::lock_guard lock(guard_);
    const auto catch_up = [&] { optimizer_->settle(t, {&ids, 1}, stages_); };
    if (!padded(ids)) return catch_up();
    but_for_padding(catch_up);
  }

  void settle_and_pool(Step t, const Bags& bags, Pooling mode, MatrixView pooled) {
    if (padded(bags.ids)) {
      settle(t, bags.ids);
      return pool(weights_, bags, mode, pooled);
    }
    const std::lock_guard lock(guard_);
    optimizer_->settle_and_pool(t, {&bags, 1}, mode, {&pooled, 1}, stages_);
  }

  void settle_all(Step t) {
    const std::lock_guard lock(guard_);
    but_for_padding([&] { optimizer_->settle_all(t); });
  }

  void forget_debts(Step t) {
    const std::lock_guard lock(guard_);
    std::ranges::fill(optimizer_->settled_through(0), t);
  }

  bool all_settled(Step t) {
    const std::lock_guard lock(guard_);
    return optimizer_->all_settled(t);
  }

 private:
  bool padded(Ids ids) const { return padding_ && std::ranges::find(ids, *padding_) != ids.end(); }

  // Calls body() and leaves the padding row as it was.
  template <class Body>
  void but_for_padding(Body&& body) {
    if (!padding_) return body();
    const std::span<float> row = weights_.row(*padding_);
    const std::vector<float> was(row.begin(), row.end());
    body();
    std::ranges::copy(was, row.begin());
  }

  Table weights_;
  std::optional<RowId> padding_;
  std::unique_ptr<TableOptimizer> optimizer_;
  StageClock stages_;
  std::mutex guard_;
};

TableGroup::TableGroup(const NoiseSource& noise, const TableOptimizerOptions& options)
    : noise_(noise), options_(options), clock_(make_clock(options)) {}

TableGroup::~TableGroup() = default;

std::size_t TableGroup::add(const TableMemory& memory) {
  check((options_.rule == TableRule::momentum) == !memory.momentum.empty(),
        "a momentum where the rule has one");
  check(now() == 0, "tables are added before the first step");
  collapse_into_huge_pages(memory.weights.data(), memory.weights.size_bytes());
  collapse_into_huge_pages(memory.momentum.data(), memory.momentum.size_bytes());
  tables_.push_back(std::make_unique<BoundTable>(options_, memory, *clock_, noise_));
  return tables_.size() - 1;
}

void TableGroup::require(const TableStep& step) const {
  if (options_.rule == TableRule::momentum) return;
  if (step.momentum != 0.0) {
    throw UserError(
        "momentum is " + std::to_string(step.momentum) +
        " but was 0 when the tables were set up; set it before, so that rows keep a momentum");
  }
  if (step.weight_decay != 0.0 && options_.decay == WeightDecay::off) {
    throw UserError(
        "weight_decay is " + std::to_string(step.weight_decay) +
        " but was 0 when the tables were set up; set it before, so that rows wait for it");
  }
  if (!(step.learning_rate * step.weight_decay < 1.0)) {
    throw UserError("lr x weight_decay is " +
                    std::to_string(step.learning_rate * step.weight_decay) +
                    "; for tables it must be below 1");
  }
}

Step TableGroup::open(const TableStep& step) {
  require(step);
  return clock_->open(step);
}

void TableGroup::apply(std::size_t table, const TableGradient& gradient) {
  tables_.at(table)->apply(now(), gradient);
}

// A table with a large part of the work takes its step alone, on all threads; so does every table
// of which all rows are written. The others share one parallel loop, the longest first.
void TableGroup::apply(std::span<const Update> updates) {
  std::vector<std::pair<std::size_t, const Update*>> by_work;
  std::size_t all = 0;
  for (const Update& update : updates) {
    by_work.emplace_back(update.gradient.ids().size() * dim(update.table), &update);
    all += by_work.back().first;
  }
  std::ranges::sort(by_work, std::greater{}, &std::pair<std::size_t, const Update*>::first);
  const auto threads = static_cast<std::size_t>(threads_here());
  const bool alone = traits_of(options_.policy).writes_every_row;
  const auto few = std::ranges::find_if(
      by_work, [&](const auto& one) { return !alone && 2 * threads * one.first <= all; });
  const auto take = [&](const auto& one) { apply(one.second->table, one.second->gradient); };
  std::for_each(by_work.begin(), few, take);
  constexpr std::size_t kFloats = std::size_t{1} << 15;  // of a task, about: it outweighs its start
  const std::span rest(few, by_work.end());
  const std::size_t block = 1 + kFloats * rest.size() / (1 + all);
  parallel_blocks(rest.size(), block, [&](std::size_t begin, std::size_t end) {
    std::ranges::for_each(rest.subspan(begin, end - begin), take);
  });
}

void TableGroup::settle(std::size_t table, std::span<const RowId> ids) {
  tables_.at(table)->settle(now(), ids);
}

void TableGroup::settle_and_pool(std::size_t table, const Bags& bags, Pooling mode,
                                 MatrixView pooled) {
  tables_.at(table)->settle_and_pool(now(), bags, mode, pooled);
}

void TableGroup::settle_all(std::size_t table) {
  tables_.at(table)->settle_all(now());
}

void TableGroup::settle_all() {
  for (const auto& table : tables_) table->settle_all(now());
}

void TableGroup::forget_debts(std::size_t table) {
  tables_.at(table)->forget_debts(now());
}

bool TableGroup::all_settled() const {
  return std::ranges::all_of(tables_,
                             [this](const auto& table) { return table->all_settled(now()); });
}

RowId TableGroup::rows(std::size_t table) const {
  return tables_.at(table)->weights().rows();
}

std::size_t TableGroup::dim(std::size_t table) const {
  return tables_.at(table)->weights().dim();
}

}  // namespace lazydp
