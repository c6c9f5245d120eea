#include "lazydp/noise/settle_and_pool.h"

#include <algorithm>

#include "lazydp/base/stages.h"

namespace lazydp {

namespace {

// Returns how many rows fill a part of a core's cache.
std::size_t rows_at_a_time(const Table& table) {
  constexpr std::size_t kBytes = std::size_t{1} << 17;
  return kBytes / (table.dim() * sizeof(float));
}

// Returns the end of a run of bags from `begin` on that name at most `ids` rows, or of one bag.
std::size_t run_of_bags(const Bags& bags, std::size_t begin, std::size_t ids) {
  std::size_t end = begin + 1;
  while (end < bags.size() && bags.offsets[end + 1] - bags.offsets[begin] <= ids) ++end;
  return end;
}

}  // namespace

// Settles the share's rows of one run, and prefetches the histories of the next.
void TableSettler::settle_run(Table& table, WaitingRows& waiting, NoiseWriter& writer,
                              const OwedThrough& owed, std::span<const RowId> ids,
                              std::span<const RowId> next, Share share) {
  Stopwatch watch;
  late_.clear();
  claim_late_rows(waiting.history, owed.through(), ids, share, late_);
  prefetch_ahead(waiting.history, next);
  seconds_[0] += watch.lap();
  writer.settle(table, *waiting.catch_up, owed, late_);
  settled_ += late_.size();
  seconds_[1] += watch.lap();
}

void TableSettler::settle_and_pool(Table& table, WaitingRows& waiting, NoiseWriter& writer,
                                   const OwedThrough& owed, const Bags& bags, Pooling mode,
                                   MatrixView pooled) {
  const std::span<const RowId> ids = bags.ids;
  for (std::size_t begin = 0, end = 0; begin < bags.size(); begin = end) {
    end = run_of_bags(bags, begin, rows_at_a_time(table));
    const std::size_t first = bags.offsets[begin];
    const std::size_t last = bags.offsets[end];
    settle_run(table, waiting, writer, owed, ids.subspan(first, last - first), ids.subspan(last),
               {});
    Stopwatch watch;
    pool(table, bags, mode, begin, end, pooled.rows_from(begin, end - begin));
    seconds_[2] += watch.lap();
  }
}

void TableSettler::settle(Table& table, WaitingRows& waiting, NoiseWriter& writer,
                          const OwedThrough& owed, std::span<const RowId> ids, Share share) {
  const std::size_t rows = rows_at_a_time(table) * share.count;
  while (!ids.empty()) {
    const auto run = ids.first(std::min(rows, ids.size()));
    ids = ids.subspan(run.size());
    settle_run(table, waiting, writer, owed, run, ids, share);
  }
}

void TableSettler::book(std::span<TableSettler> tables, StageClock& stages, RowTraffic& traffic) {
  std::array<double, 3> parts{};
  for (TableSettler& table : tables) {
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] += table.seconds_[i];
    traffic.read += table.settled_;
    traffic.written += table.settled_;
    table.seconds_ = {};
    table.settled_ = 0;
  }
  stages.lap_in_proportion(std::array{Stage::dedup, Stage::settle, Stage::forward}, parts);
}

}  // namespace lazydp
