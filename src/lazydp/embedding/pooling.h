#pragma once
// Bags of rows to vectors, and gradients of those vectors back to rows.

#include <cstddef>
#include <cstdint>
#include <span>

#include "lazydp/base/matrix.h"
#include "lazydp/embedding/bags.h"
#include "lazydp/embedding/share.h"
#include "lazydp/embedding/table.h"

namespace lazydp {

enum class Pooling { sum, mean };

// pooled.row(i) = sum over bag i of weight x row, divided by the bag's length for `mean`. An empty
// bag gives zeros. `pooled` has one row for each bag.
void pool(const Table& table, const Bags& bags, Pooling mode, MatrixView pooled);

// The same for all tables of a batch in one loop: bags of table k from tables[k] into pooled[k].
void pool(std::span<const Table> tables, std::span<const Bags> bags, Pooling mode,
          std::span<const MatrixView> pooled);

// The same for the bags [begin, end) alone, on the calling thread: `pooled` has a row for each of
// these.
void pool(const Table& table, const Bags& bags, Pooling mode, std::size_t begin, std::size_t end,
          MatrixView pooled);

// The gradient of one table, in factors: row u receives the sum over its occurrences of
// coefficient x gradient of the pooled vector. Forming the rows is left to whoever adds them to a
// table, so that a row is touched once and nothing is stored twice.
struct TableGradient {
  const Bags* bags = nullptr;
  Pooling mode = Pooling::sum;
  ConstMatrixView pooled;  // bags x dim

  std::span<const RowId> ids() const { return bags->ids; }
};

// Adds scale x gradient to the share's rows; a row that a bag names twice receives it twice.
// Returns the number of additions.
std::uint64_t add_gradient(Table& table, const TableGradient& gradient, float scale, Share share);

}  // namespace lazydp
