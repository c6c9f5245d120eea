#include "lazydp/bench/paper/overhead_passes.h"

#include <chrono>
#include <vector>

#include "lazydp/base/parallel.h"
#include "lazydp/cli/run/training_run.h"
#include "lazydp/noise/history.h"
#include "lazydp/noise/variance_clock.h"

namespace lazydp::paper {
namespace {

// A set of row numbers that forgets all of them at once: open addressing, cells tagged with a turn.
class RowSet {
 public:
  // Makes room for so many, and forgets.
  void begin(std::size_t most) {
    std::size_t size = 16;
    while (size < 2 * most) size *= 2;
    if (size > cells_.size()) cells_.assign(size, {});
    ++turn_;
  }
  bool insert(RowId row) {
    constexpr std::uint64_t kScatter = 0x9e3779b97f4a7c15;
    const std::size_t mask = cells_.size() - 1;
    for (std::size_t at = (static_cast<std::uint64_t>(row) * kScatter >> 32) & mask;;
         at = (at + 1) & mask) {
      if (cells_[at].turn != turn_) {
        cells_[at] = {row, turn_};
        return true;
      }
      if (cells_[at].row == row) return false;
    }
  }

 private:
  struct Cell {
    RowId row = 0;
    std::uint64_t turn = 0;
  };
  std::vector<Cell> cells_;
  std::uint64_t turn_ = 0;
};

struct TableWork {
  explicit TableWork(RowId rows) : history(rows) {}

  History history;
  RowSet seen;
  std::vector<RowId> distinct;
  std::vector<float> stds;
};

double lap(std::chrono::steady_clock::time_point& last) {
  const auto now = std::chrono::steady_clock::now();
  const double ms = std::chrono::duration<double, std::milli>(now - last).count();
  last = now;
  return ms;
}

}  // namespace

OverheadPasses time_overhead_passes(const BenchOptions& options, Step batches) {
  const Task task = make_task(options.task, options.model.shape);
  const Recipe& lazy = recipe("lazydp");
  const Plan plan = options.plan(lazy);
  const auto sampler =
      make_sampler(Sampling::shuffled, Seed::fixed(options.seed.value_or(0) + 99),
                   task.train->size(), plan.mechanism.sampling_rate, options.batch);
  std::vector<TableWork> tables;
  for (const RowId rows : options.model.shape.table_rows) tables.emplace_back(rows);

  VarianceClock clock;
  BatchQueue queue(*task.train, *sampler, LookAhead::off);
  OverheadPasses sum;
  for (Step t = 1; t <= batches + 1; ++t) {
    clock.open(1.0, 1.0, 1.0);
    queue.advance(t);
    const Batch& batch = queue.current();
    const Debts debts = clock.through(t);
    auto last = std::chrono::steady_clock::now();
    parallel_for(tables.size(), [&](std::size_t k) {
      TableWork& table = tables[k];
      table.seen.begin(batch.bags[k].ids.size());
      table.distinct.clear();
      for (const RowId row : batch.bags[k].ids) {
        if (table.seen.insert(row)) table.distinct.push_back(row);
      }
    });
    const double duplicates = lap(last);
    parallel_for(tables.size(), [&](std::size_t k) {
      TableWork& table = tables[k];
      table.stds.clear();
      for (const RowId row : table.distinct) {
        table.stds.push_back(debts.due_since(table.history.settled_through(row)).std);
      }
    });
    const double read = lap(last);
    parallel_for(tables.size(), [&](std::size_t k) {
      for (const RowId row : tables[k].distinct) tables[k].history.settle(row, t);
    });
    const double write = lap(last);
    if (t == 1) continue;
    sum.duplicates_ms += duplicates / batches;
    sum.read_ms += read / batches;
    sum.write_ms += write / batches;
  }
  return sum;
}

}  // namespace lazydp::paper
