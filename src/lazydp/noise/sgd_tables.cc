#include "lazydp/noise/sgd_tables.h"

#include <algorithm>
#include <atomic>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

// Returns into how many tasks a table is cut: one when that keeps all threads busy, and where all
// tables together have so little to do that it is done before other threads are awake.
std::size_t shares_of(std::span<const Table> tables, std::span<const Ids> ids) {
  const auto threads = static_cast<std::size_t>(threads_here());
  if (tables.size() % threads == 0 || tables.size() >= 4 * threads) return 1;
  constexpr std::size_t kWorthIt = std::size_t{1} << 16;
  std::size_t floats = 0;
  for (std::size_t k = 0; k < tables.size(); ++k) floats += ids[k].size() * tables[k].dim();
  return floats < kWorthIt ? 1 : threads;
}

std::size_t rows_per_task(const Table& table) {
  constexpr std::size_t kFloats = std::size_t{1} << 18;  // a megabyte
  return std::max<std::size_t>(16, kFloats / table.dim());
}

}  // namespace

SgdTables::SgdTables(NoisePolicy policy, std::span<Table> tables, const VarianceClock& clock,
                     const NoiseSource& noise, WeightDecay decay, NoisePasses passes)
    : TableOptimizer(tables),
      clock_(clock),
      writer_(make_noise_writer(passes, noise)),
      policy_(traits_of(policy)),
      fused_(passes == NoisePasses::fused) {
  const auto waiting = [&](Missed missed, const Table& table) {
    return std::make_unique<WaitingRows>(table.rows(), make_catch_up(missed, clock.correlation()));
  };
  if (policy_.writes_every_row) sweep_ = make_catch_up(policy_.on_read, clock.correlation());
  for (const Table& table : tables) {
    Update& update = updates_.emplace_back();
    if (policy_.rows_wait(decay == WeightDecay::on)) {
      update.on_read = waiting(policy_.on_read, table);
    }
    if (policy_.on_gradient != Missed::nothing) {
      update.on_gradient = waiting(policy_.on_gradient, table);
    }
  }
}

void SgdTables::apply(Step t, std::span<const TableGradient> gradients, StageClock& stages) {
  guard_.run([&] { take_step(t, gradients, stages); });
}

void SgdTables::take_step(Step t, std::span<const TableGradient> gradients, StageClock& stages) {
  with_gradient_.clear();
  for (const TableGradient& gradient : gradients) with_gradient_.push_back(gradient.ids());
  const std::size_t shares = shares_of(tables_, with_gradient_);
  std::atomic<std::uint64_t> rows{0};
  parallel_for(tables_.size() * shares, [&](std::size_t task) {
    const std::size_t k = task / shares;
    rows +=
        add_gradient(tables_[k], gradients[k], -clock_.gradient_scale(), {task % shares, shares});
  });
  traffic_.read += rows;
  traffic_.written += rows;
  stages.lap(Stage::gradient_update);

  catch_up(&Update::on_gradient, t, with_gradient_, stages);
  if (policy_.writes_every_row) sweep_all(t, stages);
  settle_in_turn(t, stages);
}

void SgdTables::settle(Step t, std::span<const Ids> ids, StageClock& stages) {
  guard_.run([&] { catch_up(&Update::on_read, t, ids, stages); });
}

void SgdTables::settle_and_pool(Step t, std::span<const Bags> bags, Pooling mode,
                                std::span<const MatrixView> pooled, StageClock& stages) {
  to_read_.clear();
  for (const Bags& of_table : bags) to_read_.emplace_back(of_table.ids);
  const bool waits = !updates_.empty() && updates_.front().on_read != nullptr;
  if (!waits || !fused_) {
    settle(t, to_read_, stages);
    pool(tables_, bags, mode, pooled);
    return stages.lap(Stage::forward);
  }
  const OwedThrough owed = clock_.through(t);
  const std::size_t shares = shares_of(tables_, to_read_);
  reading_.resize(tables_.size() * shares);
  guard_.run([&] {
    parallel_for(reading_.size(), [&](std::size_t task) {
      const std::size_t k = task / shares;
      TableSettler& settler = reading_[task];
      if (shares == 1) {
        settler.settle_and_pool(tables_[k], *updates_[k].on_read, *writer_, owed, bags[k], mode,
                                pooled[k]);
      } else {
        settler.settle(tables_[k], *updates_[k].on_read, *writer_, owed, bags[k].ids,
                       {task % shares, shares});
      }
    });
  });
  TableSettler::book(reading_, stages, traffic_);
  if (shares == 1) return;
  pool(tables_, bags, mode, pooled);
  stages.lap(Stage::forward);
}

// First all tables find their late rows, then all these rows catch up, whatever table they belong
// to.
void SgdTables::catch_up(std::unique_ptr<WaitingRows> Update::*part, Step t,
                         std::span<const Ids> ids, StageClock& stages) {
  if (std::ranges::none_of(updates_,
                           [&](const Update& update) { return update.*part != nullptr; })) {
    return;
  }
  const std::size_t shares = shares_of(tables_, ids);
  late_.resize(tables_.size() * shares);
  parallel_for(late_.size(), [&](std::size_t task) {
    Late& late = late_[task];
    late.table = task / shares;
    late.rows.clear();
    claim_late_rows((updates_[late.table].*part)->history, t, ids[late.table],
                    {task % shares, shares}, late.rows);
  });
  stages.lap(Stage::dedup);

  const OwedThrough owed = clock_.through(t);
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
    writer_->settle(tables_[late->table], *(updates_[late->table].*part)->catch_up, owed,
                    rows.subspan(task * kRows, std::min(kRows, rows.size() - task * kRows)));
  });
  writer_->lap(stages);
}

void SgdTables::sweep_all(Step t, StageClock& stages) {
  if (clock_.at(t).nothing()) return;
  const OwedThrough owed = clock_.through(t);
  for (Table& table : tables_) {
    parallel_blocks(static_cast<std::size_t>(table.rows()), rows_per_task(table),
                    [&](std::size_t begin, std::size_t end) {
                      writer_->sweep(table, *sweep_, owed, static_cast<RowId>(begin),
                                     static_cast<RowId>(end));
                    });
    traffic_.read += static_cast<std::uint64_t>(table.rows());
    traffic_.written += static_cast<std::uint64_t>(table.rows());
  }
  writer_->lap(stages);
}

// Settles the rows whose turn it is, although nothing reads them.
void SgdTables::settle_in_turn(Step t, StageClock& stages) {
  bool any = false;
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    Table& table = tables_[k];
    const auto [first, count] = rows_in_turn(policy_, t, table);
    if (count == 0) continue;
    any = true;
    WaitingRows& part = *updates_[k].on_read;
    const OwedThrough owed = clock_.through(t);
    parallel_blocks(static_cast<std::size_t>(count), rows_per_task(table),
                    [&, first = first](std::size_t begin, std::size_t end) {
                      std::vector<LateRow> late;
                      claim_late_range(part.history, t, first + static_cast<RowId>(begin),
                                       first + static_cast<RowId>(end), late);
                      writer_->settle(table, *part.catch_up, owed, late);
                    });
  }
  if (any) writer_->lap(stages);
}

void SgdTables::settle_all(Step t, const std::function<void(std::uint64_t)>& progress) {
  guard_.require_whole();
  const OwedThrough owed = clock_.through(t);
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    WaitingRows* part = updates_[k].on_read.get();
    if (part == nullptr) continue;
    guard_.run([&] {
      parallel_blocks(static_cast<std::size_t>(tables_[k].rows()), rows_per_task(tables_[k]),
                      [&](std::size_t begin, std::size_t end) {
                        std::vector<LateRow> late;
                        claim_late_range(part->history, t, static_cast<RowId>(begin),
                                         static_cast<RowId>(end), late);
                        writer_->settle(tables_[k], *part->catch_up, owed, late);
                      });
    });
    if (progress) progress(static_cast<std::uint64_t>(tables_[k].rows()));
  }
}

void SgdTables::settle_copy(Step t, std::size_t table, RowId first, RowId last, Table& window) {
  guard_.require_whole();
  WaitingRows* part = updates_[table].on_read.get();
  if (part == nullptr) return;
  std::vector<LateRow> late;
  find_late_range(part->history, t, first, last, late);
  writer_->settle(window, *part->catch_up, clock_.through(t), late);
}

std::size_t SgdTables::bytes() const {
  std::size_t bytes = 0;
  for (const Update& update : updates_) {
    if (update.on_read) bytes += update.on_read->history.bytes();
    if (update.on_gradient) bytes += update.on_gradient->history.bytes();
  }
  return bytes;
}

std::span<Step> SgdTables::settled_through(std::size_t table) {
  guard_.require_whole();
  const Update& update = updates_[table];
  return update.on_read ? update.on_read->history.steps() : std::span<Step>();
}

}  // namespace lazydp
