#include "lazydp/noise/partly_frozen_tables.h"

#include <algorithm>
#include <utility>

#include "lazydp/base/error.h"

namespace lazydp {

std::vector<Table> trained_tables(std::span<Table> tables, std::span<const std::size_t> frozen) {
  std::vector<Table> trained;
  for (std::size_t k = 0; k < tables.size(); ++k) {
    if (!std::ranges::binary_search(frozen, k)) trained.push_back(Table::view(tables[k]));
  }
  return trained;
}

PartlyFrozenTables::PartlyFrozenTables(std::span<Table> tables, std::span<const std::size_t> frozen,
                                       std::vector<Table> trained,
                                       std::unique_ptr<TableOptimizer> optimizer)
    : TableOptimizer(tables), trained_(std::move(trained)), optimizer_(std::move(optimizer)) {
  std::size_t next = 0;
  for (std::size_t k = 0; k < tables.size(); ++k) {
    place_.push_back(std::ranges::binary_search(frozen, k) ? kFrozen : next++);
  }
  check(next == trained_.size(), "a view of each table that trains");
}

void PartlyFrozenTables::apply(Step t, std::span<const TableGradient> gradients,
                               StageClock& stages) {
  gradients_.clear();
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (place_[k] != kFrozen) gradients_.push_back(gradients[k]);
  }
  guard_.run([&] { optimizer_->apply(t, gradients_, stages); });
  traffic_ = optimizer_->traffic();
}

void PartlyFrozenTables::settle(Step t, std::span<const Ids> ids, StageClock& stages) {
  ids_.clear();
  for (std::size_t k = 0; k < ids.size(); ++k) {
    if (place_[k] != kFrozen) ids_.push_back(ids[k]);
  }
  guard_.run([&] { optimizer_->settle(t, ids_, stages); });
  traffic_ = optimizer_->traffic();
}

void PartlyFrozenTables::settle_and_pool(Step t, std::span<const Bags> bags, Pooling mode,
                                         std::span<const MatrixView> pooled, StageClock& stages) {
  ids_.clear();
  for (std::size_t k = 0; k < bags.size(); ++k) {
    if (place_[k] != kFrozen) ids_.emplace_back(bags[k].ids);
  }
  guard_.run([&] { optimizer_->settle(t, ids_, stages); });
  traffic_ = optimizer_->traffic();
  pool(tables_, bags, mode, pooled);
  stages.lap(Stage::forward);
}

void PartlyFrozenTables::settle_all(Step t, const std::function<void(std::uint64_t)>& progress) {
  guard_.run([&] { optimizer_->settle_all(t, progress); });
  if (!progress) return;
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    if (place_[k] == kFrozen) progress(static_cast<std::uint64_t>(tables_[k].rows()));
  }
}

void PartlyFrozenTables::settle_copy(Step t, std::size_t table, RowId first, RowId last,
                                     Table& window) {
  guard_.require_whole();
  if (place_[table] != kFrozen) optimizer_->settle_copy(t, place_[table], first, last, window);
}

std::span<Step> PartlyFrozenTables::settled_through(std::size_t table) {
  guard_.require_whole();
  return place_[table] != kFrozen ? optimizer_->settled_through(place_[table]) : std::span<Step>();
}

std::vector<TableState> PartlyFrozenTables::state(std::size_t table) {
  if (place_[table] == kFrozen) return {};
  return optimizer_->state(place_[table]);
}

}  // namespace lazydp
