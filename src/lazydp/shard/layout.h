#pragma once
// Decides which rank holds which rows.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/embedding/table.h"

namespace lazydp {

// A table is either cut into one range of neighbouring rows for each rank, of sizes as equal as
// possible, or copied: every rank then holds and updates all of it in the same way.
class Layout {
 public:
  // Copies tables of at most `small` rows, and those of a single row. Throws UserError if a rank's
  // part has more rows than ids between ranks can name.
  Layout(std::span<const RowId> table_rows, int ranks, RowId small);

  std::size_t tables() const { return first_.size(); }
  int ranks() const { return ranks_; }
  bool copied(std::size_t table) const { return first_[table].empty(); }

  // Returns the rows of a table that a rank holds.
  RowRange range(std::size_t table, int rank) const;

  // Returns the rank that owns a row of a table that is cut.
  int owner(std::size_t table, RowId row) const {
    const std::vector<RowId>& first = first_[table];
    auto rank = static_cast<std::size_t>(static_cast<double>(row) * per_row_[table]);
    while (row < first[rank]) --rank;  // rounding puts the product at most one off
    while (row >= first[rank + 1]) ++rank;
    return static_cast<int>(rank);
  }

  static constexpr RowId kMostRows = RowId{1} << 31;  // rows of a table on one rank

 private:
  int ranks_;
  std::vector<RowId> rows_;
  // For tables that are cut: the first row of each rank, then the number of rows.
  std::vector<std::vector<RowId>> first_;
  std::vector<double> per_row_;  // ranks / rows
};

// Returns the number of rows up to which a table costs fewer bytes between ranks as copies, whose
// gradients are added up over all ranks, than cut, when every example's vector and its gradient
// travel.
RowId small_table(double expected_batch, int ranks);

// Makes this rank's tables, all zeros.
std::vector<Table> make_tables(const Layout& layout, int rank, std::size_t dim);

}  // namespace lazydp
