#include "lazydp/noise/sgd_tables.h"

#include <algorithm>
#include <atomic>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

// How many tasks a table is cut into: one when that keeps all threads busy.
std::size_t shares_of(std::size_t tables) {
  const auto threads = static_cast<std::size_t>(thread_count());
  return tables % threads == 0 || tables >= 4 * threads ? 1 : threads;
}

std::size_t rows_per_task(const Table& table) {
  constexpr std::size_t kFloats = std::size_t{1} << 18;  // a megabyte
  return std::max<std::size_t>(16, kFloats / table.dim());
}

}  // namespace

TableUpdates::TableUpdates(NoisePolicy policy, std::span<Table> tables, const VarianceClock& clock,
                           const NoiseSource& noise, bool decays, Kernels kernels)
    : tables_(tables),
      clock_(clock),
      writer_(make_noise_writer(kernels, noise)),
      every_row_(policy == NoisePolicy::every_row),
      fused_(kernels == Kernels::fused) {
  for (Table& table : tables) {
    Update update;
    switch (policy) {
      case NoisePolicy::every_row: break;
      case NoisePolicy::lazy_aggregated: update.on_read = make_aggregated(table.rows()); break;
      case NoisePolicy::lazy_each_step: update.on_read = make_each_step(table.rows()); break;
      case NoisePolicy::touched_rows:
        update.on_gradient = make_this_step_only(table.rows());
        [[fallthrough]];
      case NoisePolicy::none:
        if (decays) update.on_read = make_decay_only(table.rows());
        break;
    }
    updates_.push_back(std::move(update));
  }
}

void TableUpdates::apply(Step t, std::span<const TableGradient> gradients, StageClock& stages) {
  guard_.run([&] { take_step(t, gradients, stages); });
}

void TableUpdates::take_step(Step t, std::span<const TableGradient> gradients, StageClock& stages) {
  const std::size_t shares = shares_of(tables_.size());
  std::atomic<std::uint64_t> rows{0};
  parallel_for(tables_.size() * shares, [&](std::size_t task) {
    const std::size_t k = task / shares;
    rows +=
        add_gradient(tables_[k], gradients[k], -clock_.gradient_scale(), {task % shares, shares});
  });
  traffic_.read += rows;
  traffic_.written += rows;
  stages.lap(Stage::gradient_update);

  with_gradient_.clear();
  for (const TableGradient& gradient : gradients) with_gradient_.push_back(gradient.ids());
  catch_up(&Update::on_gradient, t, with_gradient_, stages);
  if (every_row_) sweep_all(t, stages);
}

void TableUpdates::settle(Step t, std::span<const Ids> ids, StageClock& stages) {
  guard_.run([&] { catch_up(&Update::on_read, t, ids, stages); });
}

void TableUpdates::read(Step t, std::span<const Bags> bags, Pooling mode,
                        std::span<const MatrixView> pooled, StageClock& stages) {
  const bool waits = !updates_.empty() && updates_.front().on_read != nullptr;
  if (waits && fused_ && shares_of(tables_.size()) == 1) {
    const Debts debts = clock_.through(t);
    reading_.resize(tables_.size());
    guard_.run([&] {
      parallel_for(tables_.size(), [&](std::size_t k) {
        reading_[k].settle_and_pool(tables_[k], *updates_[k].on_read, *writer_, debts, bags[k],
                                    mode, pooled[k]);
      });
    });
    TableReading::book(reading_, stages, traffic_);
    return;
  }
  to_read_.clear();
  for (const Bags& of_table : bags) to_read_.emplace_back(of_table.ids);
  settle(t, to_read_, stages);
  pool(tables_, bags, mode, pooled);
  stages.lap(Stage::forward);
}

// First all tables find who is late, then all rows catch up, whatever table they are of.
void TableUpdates::catch_up(std::unique_ptr<CatchUp> Update::*part, Step t,
                            std::span<const Ids> ids, StageClock& stages) {
  if (std::ranges::none_of(updates_,
                           [&](const Update& update) { return update.*part != nullptr; })) {
    return;
  }
  const std::size_t shares = shares_of(tables_.size());
  late_.resize(tables_.size() * shares);
  parallel_for(late_.size(), [&](std::size_t task) {
    Late& late = late_[task];
    late.table = task / shares;
    late.rows.clear();
    claim_late_rows((updates_[late.table].*part)->history(), t, ids[late.table],
                    {task % shares, shares}, late.rows);
  });
  stages.lap(Stage::dedup);

  const Debts debts = clock_.through(t);
  constexpr std::size_t kRows = 1024;
  std::size_t tasks = 0;
  for (const Late& late : late_) {
    tasks += (late.rows.size() + kRows - 1) / kRows;
    traffic_.read += late.rows.size();
    traffic_.written += late.rows.size();
  }
  parallel_for(tasks, [&](std::size_t task) {
    auto late = late_.begin();
    for (std::size_t here; task >= (here = (late->rows.size() + kRows - 1) / kRows); ++late) {
      task -= here;
    }
    const std::span<const LateRow> rows = late->rows;
    writer_->settle(tables_[late->table], *(updates_[late->table].*part), debts,
                    rows.subspan(task * kRows, std::min(kRows, rows.size() - task * kRows)));
  });
  writer_->lap(stages);
}

void TableUpdates::sweep_all(Step t, StageClock& stages) {
  if (clock_.at(t).nothing()) return;
  const Debts debts = clock_.through(t);
  for (Table& table : tables_) {
    parallel_blocks(static_cast<std::size_t>(table.rows()), rows_per_task(table),
                    [&](std::size_t begin, std::size_t end) {
                      writer_->sweep(table, debts, static_cast<RowId>(begin),
                                     static_cast<RowId>(end));
                    });
    traffic_.read += static_cast<std::uint64_t>(table.rows());
    traffic_.written += static_cast<std::uint64_t>(table.rows());
  }
  writer_->lap(stages);
}

void TableUpdates::settle_all(Step t, const std::function<void(std::uint64_t)>& progress) {
  guard_.require_whole();
  const Debts debts = clock_.through(t);
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    CatchUp* part = updates_[k].on_read.get();
    if (part == nullptr) continue;
    guard_.run([&] {
      parallel_blocks(static_cast<std::size_t>(tables_[k].rows()), rows_per_task(tables_[k]),
                      [&](std::size_t begin, std::size_t end) {
                        std::vector<LateRow> late;
                        claim_late_range(part->history(), t, static_cast<RowId>(begin),
                                         static_cast<RowId>(end), late);
                        writer_->settle(tables_[k], *part, debts, late);
                      });
    });
    if (progress) progress(static_cast<std::uint64_t>(tables_[k].rows()));
  }
}

void TableUpdates::settle_copy(Step t, std::size_t table, RowId first, RowId last, Table& window) {
  guard_.require_whole();
  CatchUp* part = updates_[table].on_read.get();
  if (part == nullptr) return;
  std::vector<LateRow> late;
  find_late_range(part->history(), t, first, last, late);
  writer_->settle(window, *part, clock_.through(t), late);
}

bool TableUpdates::all_settled(Step t) const {
  guard_.require_whole();
  return std::ranges::all_of(updates_, [t](const Update& update) {
    return update.on_read == nullptr ||
           std::ranges::all_of(update.on_read->history().steps(),
                               [t](Step settled) { return settled == t; });
  });
}

std::size_t TableUpdates::bytes() const {
  std::size_t bytes = 0;
  for (const Update& update : updates_) {
    if (update.on_read) bytes += update.on_read->history().bytes();
    if (update.on_gradient) bytes += update.on_gradient->history().bytes();
  }
  return bytes;
}

History* TableUpdates::history(std::size_t table) {
  guard_.require_whole();
  return updates_[table].on_read ? &updates_[table].on_read->history() : nullptr;
}

}  // namespace lazydp
