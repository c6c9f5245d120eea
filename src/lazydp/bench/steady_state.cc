#include "lazydp/bench/steady_state.h"

#include <algorithm>
#include <atomic>
#include <cmath>
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

double pre_age(Trainer& trainer, std::span<const Table> tables, AccessLaw law, double lookups) {
  double rows = 0.0;
  double distinct = 0.0;
  for (const Table& table : tables) {
    const AccessOdds odds(law, table.rows());
    rows += static_cast<double>(table.rows());
    distinct += sum_over_ranks(table.rows(), [&](std::size_t begin, std::size_t end) {
      double sum = 0.0;
      for (std::size_t k = begin; k < end; ++k) {
        sum += read_probability(odds.probability(k), lookups);
      }
      return sum;
    });
  }
  const auto horizon = static_cast<Step>(std::clamp(10.0 * rows / distinct, 64.0, 1e6));
  trainer.let_pass(horizon);

  double lateness = 0.0;
  for (std::size_t table = 0; table < tables.size(); ++table) {
    History* history = trainer.updates().history(table);
    const AccessOdds odds(law, tables[table].rows());
    lateness += sum_over_ranks(tables[table].rows(), [&](std::size_t begin, std::size_t end) {
      RandomStream random(Seed::fixed(table), Purpose::public_data, static_cast<TableId>(table),
                          static_cast<Step>(begin / kRanks));
      double sum = 0.0;
      for (std::size_t k = begin; k < end; ++k) {
        const double p = read_probability(odds.probability(k), lookups);
        const double age = std::floor(std::log(random.uniform()) / std::log1p(-p));
        const auto late = static_cast<Step>(std::min<double>(age, horizon));
        if (history != nullptr) history->settle(odds.row(k), horizon - late);
        sum += p * late;
      }
      return sum;
    });
  }
  return lateness / distinct;
}

}  // namespace lazydp
