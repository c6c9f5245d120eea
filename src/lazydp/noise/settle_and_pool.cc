#include "lazydp/noise/settle_and_pool.h"

#include <algorithm>

#include "lazydp/base/stages.h"

namespace lazydp {

namespace {

// Returns the end of a run of bags from `begin` on that name at most `ids` rows, or of one bag.
std::size_t run_of_bags(const Bags& bags, std::size_t begin, std::size_t ids) {
  std::size_t end = begin + 1;
  while (end < bags.size() && bags.offsets[end + 1] - bags.offsets[begin] <= ids) ++end;
  return end;
}

}  // namespace

void TableSettler::settle_and_pool(Table& table, WaitingRows& waiting, NoiseWriter& writer,
                                   const OwedThrough& owed, const Bags& bags, Pooling mode,
                                   MatrixView pooled) {
  Stopwatch watch;
  constexpr std::size_t kBytes = std::size_t{1} << 17;  // bytes of rows: a part of a core's cache
  const std::size_t rows = kBytes / (table.dim() * sizeof(float));
  for (std::size_t begin = 0, end = 0; begin < bags.size(); begin = end) {
    end = run_of_bags(bags, begin, rows);
    const std::size_t first = bags.offsets[begin];
    late_.clear();
    claim_late_rows(waiting.history, owed.through(),
                    std::span(bags.ids).subspan(first, bags.offsets[end] - first), {}, late_);
    prefetch_ahead(waiting.history, std::span(bags.ids).subspan(bags.offsets[end]));
    seconds_[0] += watch.lap();
    writer.settle(table, *waiting.catch_up, owed, late_);
    settled_ += late_.size();
    seconds_[1] += watch.lap();
    pool(table, bags, mode, begin, end, pooled.rows_from(begin, end - begin));
    seconds_[2] += watch.lap();
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
