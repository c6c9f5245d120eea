#include "lazydp/python/bound_table.h"

#include <algorithm>
#include <vector>

#include "lazydp/base/stages.h"
#include "lazydp/noise/momentum_tables.h"
#include "lazydp/noise/sgd_tables.h"

namespace lazydp {
namespace {

class PlainTable final : public BoundTable {
 public:
  PlainTable(NoisePolicy policy, const TableMemory& memory, const VarianceClock& clock,
             const NoiseSource& noise, bool decays)
      : BoundTable(memory), updates_(policy, {&weights_, 1}, clock, noise, decays) {}

 private:
  void take_step(Step t, const TableGradient& gradient) override {
    updates_.apply(t, {&gradient, 1}, stages_);
  }
  void catch_up(Step t, std::span<const RowId> ids) override {
    updates_.settle(t, {&ids, 1}, stages_);
  }
  void catch_up_all(Step t) override { updates_.settle_all(t); }
  History* history() override { return updates_.history(0); }

  TableUpdates updates_;
  StageClock stages_;
};

class MomentumTable final : public BoundTable {
 public:
  MomentumTable(NoisePolicy policy, const TableMemory& memory, const MomentumClock& clock,
                const NoiseSource& noise)
      : BoundTable(memory),
        momentum_(Table::borrow(memory.id, memory.momentum, memory.dim)),
        updates_(policy, weights_, momentum_, clock, noise) {}

 private:
  void take_step(Step t, const TableGradient& gradient) override { updates_.apply(t, gradient); }
  void catch_up(Step t, std::span<const RowId> ids) override { updates_.settle(t, ids); }
  void catch_up_all(Step t) override { updates_.settle_all(t); }
  History* history() override { return &updates_.history(); }

  Table momentum_;
  MomentumUpdates updates_;
};

}  // namespace

BoundTable::BoundTable(const TableMemory& memory)
    : weights_(Table::borrow(memory.id, memory.weights, memory.dim)), padding_(memory.padding) {}

template <class Body>
void BoundTable::but_for_padding(Body&& body) {
  if (!padding_) return body();
  const std::span<float> row = weights_.row(*padding_);
  const std::vector<float> was(row.begin(), row.end());
  body();
  std::ranges::copy(was, row.begin());
}

void BoundTable::apply(Step t, const TableGradient& gradient) {
  const std::lock_guard lock(guard_);
  but_for_padding([&] { take_step(t, gradient); });
}

void BoundTable::settle(Step t, std::span<const RowId> ids) {
  const std::lock_guard lock(guard_);
  // Whoever settles rows ahead of their use may name the padding row too.
  const bool padded = padding_ && std::ranges::find(ids, *padding_) != ids.end();
  if (!padded) return catch_up(t, ids);
  but_for_padding([&] { catch_up(t, ids); });
}

void BoundTable::settle_all(Step t) {
  const std::lock_guard lock(guard_);
  but_for_padding([&] { catch_up_all(t); });
}

void BoundTable::forget_debts(Step t) {
  const std::lock_guard lock(guard_);
  if (History* rows = history()) std::ranges::fill(rows->steps(), t);
}

bool BoundTable::all_settled(Step t) {
  const std::lock_guard lock(guard_);
  const History* rows = history();
  return rows == nullptr ||
         std::ranges::all_of(rows->steps(), [t](Step settled) { return settled == t; });
}

std::unique_ptr<BoundTable> bind_table(NoisePolicy policy, const TableMemory& memory,
                                       const VarianceClock& clock, const NoiseSource& noise,
                                       bool decays) {
  return std::make_unique<PlainTable>(policy, memory, clock, noise, decays);
}

std::unique_ptr<BoundTable> bind_table(NoisePolicy policy, const TableMemory& memory,
                                       const MomentumClock& clock, const NoiseSource& noise) {
  return std::make_unique<MomentumTable>(policy, memory, clock, noise);
}

}  // namespace lazydp
