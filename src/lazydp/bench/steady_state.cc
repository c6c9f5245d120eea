#include "lazydp/bench/steady_state.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "lazydp/base/parallel.h"
#include "lazydp/random/stream.h"

namespace lazydp {
namespace {

constexpr std::size_t kRanks = 1 << 16;  // ranks of one task

// Calls visit(rank) for all ranks of a table, in parallel, and returns the sum of the results.
template <class Visit>
double sum_over_ranks(RowId rows, Visit&& visit) {
  const auto n = static_cast<std::size_t>(rows);
  std::vector<double> sums((n + kRanks - 1) / kRanks, 0.0);
  parallel_blocks(n, kRanks, [&](std::size_t begin, std::size_t end) {
    sums[begin / kRanks] = visit(begin, end);
  });
  double sum = 0.0;
  for (const double part : sums) sum += part;
  return sum;
}

// Returns the probability that at least one of a step's look-ups meets the row.
double read_probability(double per_lookup, double lookups) {
  return -std::expm1(lookups * std::log1p(-std::min(per_lookup, 1.0 - 1e-12)));
}

}  // namespace

SteadyState::SteadyState(std::span<const Table> tables, AccessLaw law, double lookups)
    : law_(law), lookups_(lookups) {
  double rows = 0.0;
  for (const Table& table : tables) {
    const AccessOdds odds(law, table.rows());
    rows += static_cast<double>(table.rows());
    distinct_ += sum_over_ranks(table.rows(), [&](std::size_t begin, std::size_t end) {
      double sum = 0.0;
      for (std::size_t k = begin; k < end; ++k) {
        sum += read_probability(odds.probability(k), lookups);
      }
      return sum;
    });
  }
  passed_ = static_cast<Step>(std::clamp(10.0 * rows / distinct_, 64.0, 1e6));
}

double SteadyState::make_rows_late(Trainer& trainer) const {
  const TrainingState state = trainer.state();
  for (Step t = 1; t <= passed_; ++t) state.clock.open(table_step(trainer.plan(), t));
  trainer.restore({}, "rows were made late for a benchmark");

  double lateness = 0.0;
  for (std::size_t k = 0; k < state.tables.size(); ++k) {
    const std::span<Step> settled = state.table_optimizer.settled_through(k);
    if (settled.empty()) return std::numeric_limits<double>::quiet_NaN();
    const RowId rows = state.tables[k].rows();
    const AccessOdds odds(law_, rows);
    lateness += sum_over_ranks(rows, [&](std::size_t begin, std::size_t end) {
      RandomStream random(Seed::fixed(k), Purpose::public_data, static_cast<TableId>(k),
                          static_cast<Step>(begin / kRanks));
      double sum = 0.0;
      for (std::size_t i = begin; i < end; ++i) {
        const double p = read_probability(odds.probability(i), lookups_);
        const double age = std::floor(std::log(random.uniform()) / std::log1p(-p));
        const auto late = static_cast<Step>(std::min<double>(age, passed_));
        settled[static_cast<std::size_t>(odds.row(i))] = passed_ - late;
        sum += p * late;
      }
      return sum;
    });
  }
  return lateness / distinct_;
}

}  // namespace lazydp
