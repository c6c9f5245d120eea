#pragma once
// Pools bags of rows into vectors, and adds the gradients of these vectors to the rows.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/base/types.h"
#include "lazydp/embedding/table.h"

namespace lazydp {

// The bags of one table in a batch: example i looks up ids[offsets[i]] ... ids[offsets[i + 1] - 1].
// An id may occur twice in a bag, and a bag may be empty.
struct Bags {
  std::vector<std::size_t> offsets = {0};
  std::vector<RowId> ids;
  std::vector<float> weights;  // one for each id; empty: every weight is 1

  std::size_t size() const { return offsets.size() - 1; }
  std::size_t length(std::size_t bag) const { return offsets[bag + 1] - offsets[bag]; }
  std::span<const RowId> of(std::size_t bag) const {
    return {ids.data() + offsets[bag], length(bag)};
  }
  float weight(std::size_t position) const { return weights.empty() ? 1.0f : weights[position]; }

  void clear() {
    offsets.resize(1);
    ids.clear();
    weights.clear();
  }
};

enum class Pooling { sum, mean };

// Writes pooled.row(i) = sum over bag i of weight x row, divided by the bag's length for `mean`. An
// empty bag gives zeros. `pooled` has one row for each bag.
void pool(const Table& table, const Bags& bags, Pooling mode, MatrixView pooled);

// Pools all tables of a batch in one loop: bags[k] of tables[k] into pooled[k].
void pool(std::span<const Table> tables, std::span<const Bags> bags, Pooling mode,
          std::span<const MatrixView> pooled);

// Pools only the bags [begin, end), on the calling thread: `pooled` has one row for each of them.
void pool(const Table& table, const Bags& bags, Pooling mode, std::size_t begin, std::size_t end,
          MatrixView pooled);

// The gradient of one table, in factors: row u receives the sum over its occurrences of coefficient
// x gradient of the pooled vector. The rows are formed only when they are added to a table, so that
// a row is touched once and nothing is stored twice.
struct TableGradient {
  const Bags* bags = nullptr;
  Pooling mode = Pooling::sum;
  ConstMatrixView pooled;  // bags x dim; bags x 0 for a table that does not train

  bool trains() const { return pooled.cols > 0; }
  std::span<const RowId> ids() const { return bags->ids; }
};

// Adds scale x gradient to the share's rows; a row that occurs twice in a bag receives it twice. A
// row of a table whose rows are not in order is in the share of its place. Returns the number of
// additions.
std::uint64_t add_gradient(Table& table, const TableGradient& gradient, float scale, Share share);

}  // namespace lazydp
