#include "lazydp/shard/layout.h"

#include <algorithm>
#include <string>

#include "lazydp/base/error.h"

namespace lazydp {

Layout::Layout(std::span<const RowId> table_rows, int ranks, RowId small)
    : ranks_(ranks), rows_(table_rows.begin(), table_rows.end()) {
  check(ranks >= 1, "there is a rank");
  for (const RowId rows : rows_) {
    std::vector<RowId> first;
    if (rows > std::max<RowId>(small, 1) && ranks > 1) {
      for (RowId rank = 0; rank <= ranks; ++rank)
        first.push_back(rows / ranks * rank + rows % ranks * rank / ranks);
    }
    if (ranks > 1 && (rows + ranks - 1) / ranks >= kMostRows) {
      throw UserError("a table of " + std::to_string(rows) + " rows on " + std::to_string(ranks) +
                      " ranks leaves more than 2^31 rows to one; start more ranks");
    }
    per_row_.push_back(static_cast<double>(ranks) / static_cast<double>(rows));
    first_.push_back(std::move(first));
  }
}

RowRange Layout::range(std::size_t table, int rank) const {
  if (copied(table)) return {0, rows_[table]};
  const auto r = static_cast<std::size_t>(rank);
  return {first_[table][r], first_[table][r + 1] - first_[table][r]};
}

RowId small_table(double expected_batch, int ranks) {
  return static_cast<RowId>(expected_batch / ranks);
}

std::vector<Table> make_tables(const Layout& layout, int rank, std::size_t dim) {
  std::vector<Table> tables;
  tables.reserve(layout.tables());
  for (std::size_t k = 0; k < layout.tables(); ++k) {
    const RowRange last = layout.range(k, layout.ranks() - 1);
    tables.emplace_back(static_cast<TableId>(k), layout.range(k, rank), last.first + last.count,
                        dim);
  }
  return tables;
}

}  // namespace lazydp
