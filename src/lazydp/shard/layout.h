#pragma once
// Which rank holds which rows.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/embedding/table.h"

namespace lazydp {

// A table is either cut into one range of neighbouring rows for each rank, as equal as can be, or
// copied to all: every rank then holds and updates all of it in the same way.
class Layout {
 public:
  // Tables of at most `small` rows are copied, and those of a single one. UserError if a rank's
  // part has more rows than ids between ranks can name.
  Layout(std::span<const RowId> table_rows, int ranks, RowId small);

  std::size_t tables() const { return first_.size(); }
  int ranks() const { return ranks_; }
  bool copied(std::size_t table) const { return first_[table].empty(); }

  // What a rank holds of a table.
  RowRange range(std::size_t table, int rank) const;

  // Of a table that is cut.
  int owner(std::size_t table, RowId row) const {
    const std::vector<RowId>& first = first_[table];
    auto rank = static_cast<std::size_t>(static_cast<double>(row) * per_row_[table]);
    while (row < first[rank]) --rank;  // the product is at most a rounding off
    while (row >= first[rank + 1]) ++rank;
    return static_cast<int>(rank);
  }

  static constexpr RowId kMostRows = RowId{1} << 31;  // of a table, on one rank

 private:
  int ranks_;
  std::vector<RowId> rows_;
  std::vector<std::vector<RowId>> first_;  // a table that is cut: of each rank, then all rows
  std::vector<double> per_row_;            // ranks / rows
};

// Up to this many rows a table costs fewer bytes between ranks as copies, whose gradients are added
// up over all ranks, than cut, when every example's vector and its gradient travel.
RowId small_table(double expected_batch, int ranks);

// This rank's tables, all zeros.
std::vector<Table> make_tables(const Layout& layout, int rank, std::size_t dim);

}  // namespace lazydp
