// Breaks LazyDP's step down by stage, and its own overhead into the paper's three parts.

#include <array>
#include <vector>

#include "lazydp/base/parallel.h"
#include "lazydp/base/stages.h"
#include "lazydp/bench/interleaved_steps.h"
#include "lazydp/bench/paper/experiments.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/measurer.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/noise/history.h"
#include "lazydp/noise/variance_clock.h"
#include "lazydp/report/chart.h"
#include "lazydp/train/model_and_tables.h"

namespace lazydp::paper {

namespace {

// Times of LazyDP's own passes, in ms a step, on the threads that training uses.
struct OverheadPasses {
  double duplicates_ms = 0.0;  // finding the distinct ids of each table
  double read_ms = 0.0;        // reading their histories, and computing the std that each is owed
  double write_ms = 0.0;       // writing their histories

  double total() const { return duplicates_ms + read_ms + write_ms; }
};

// A set of row numbers that is cleared at once: open addressing, with cells tagged by turn.
class RowSet {
 public:
  // Makes room for `most` numbers and clears the set.
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

// Times the passes on batches of this setting's model and task, with histories and a clock of their
// own. Returns means over `batches` batches after a first one.
OverheadPasses time_overhead_passes(const BenchOptions& options, Step batches) {
  const TrainingData task = load_data(options.task, options.model.shape);
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
    const OwedThrough owed = clock.through(t);
    Stopwatch watch;
    parallel_for(tables.size(), [&](std::size_t k) {
      TableWork& table = tables[k];
      table.seen.begin(batch.bags[k].ids.size());
      table.distinct.clear();
      for (const RowId row : batch.bags[k].ids) {
        if (table.seen.insert(row)) table.distinct.push_back(row);
      }
    });
    const double duplicates = watch.lap() * 1e3;
    parallel_for(tables.size(), [&](std::size_t k) {
      TableWork& table = tables[k];
      table.stds.clear();
      for (const RowId row : table.distinct) {
        table.stds.push_back(owed.term_since(table.history.settled_through(row)).std);
      }
    });
    const double read = watch.lap() * 1e3;
    parallel_for(tables.size(), [&](std::size_t k) {
      for (const RowId row : tables[k].distinct) tables[k].history.settle(row, t);
    });
    const double write = watch.lap() * 1e3;
    if (t == 1) continue;
    sum.duplicates_ms += duplicates / batches;
    sum.read_ms += read / batches;
    sum.write_ms += write / batches;
  }
  return sum;
}

}  // namespace

Findings lazydp_breakdown(Measurer& measurer) {
  const Measurement& m = measurer.measure(staged(measurer, measurer.scale().table_bytes));
  const StepParts parts = parts_of(m.of("lazydp"));
  const UpdateParts update = update_of(m.of("lazydp"));
  const double total = parts.total();

  Findings findings;
  findings.sheet.columns = {"part", "ms", "share_of_step", "standing"};
  BarChart chart = empty_bars("Where LazyDP's time goes",
                              how(m) + ", " + size_text(m.table_bytes()), "ms", {"a step"});
  const auto add = [&](const std::string& part, double ms) {
    findings.sheet.add(
        {part, cell(ms), cell(ms / total), std::string(name_of(Standing::measured))});
  };
  const std::array<std::pair<const char*, double>, 8> shown = {{{"forward", parts.forward},
                                                                {"per example", parts.per_example},
                                                                {"per batch", parts.per_batch},
                                                                {"sampling", update.sampling},
                                                                {"noisy grad.", update.generation},
                                                                {"update", update.writing},
                                                                {"dense", update.other},
                                                                {"overhead", update.overhead}}};
  for (const auto& [part, ms] : shown) {
    add(part, ms);
    chart.groups.emplace_back(part);
    chart.series[0].bars.push_back({.value = ms});
  }
  findings.pictures.push_back({"", svg_of(chart)});

  const OverheadPasses passes = time_overhead_passes(m.options, measurer.scale().rounds);
  add("overhead in three passes: duplicates", passes.duplicates_ms);
  add("overhead in three passes: history read and std", passes.read_ms);
  add("overhead in three passes: history write", passes.write_ms);
  findings.comparisons = {
      {"LazyDP's own overhead, share of a step", "15 %", percent(update.overhead / total),
       "one pass finds late rows: the history that is read anyway tells an id that was seen from "
       "one that was not; and a step is longer without a GPU"},
      {"of it duplicates, history read with std, history write", "61 %, 22 %, 17 %",
       percent(passes.duplicates_ms / passes.total()) + ", " +
           percent(passes.read_ms / passes.total()) + ", " +
           percent(passes.write_ms / passes.total()),
       "the same batches in three passes, one after the other, timed apart: " +
           fixed(passes.total(), 2) + " ms, where our one pass with pricing takes " +
           fixed(update.overhead, 2) + " ms"}};
  return findings;
}

}  // namespace lazydp::paper
