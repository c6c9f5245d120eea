#pragma once
// Norms of all examples' gradients of one table, whatever the model looked up where.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/data/batch.h"
#include "lazydp/embedding/pooling.h"

namespace lazydp {

// The norm of one example's gradient of one table, without forming it.

// Adds up, row by row, the coefficients with which a bag names rows: the bag's gradient is that sum
// times the gradient of the pooled vector. Keeps its memory from bag to bag; one for each thread.
class BagCoefficients {
 public:
  // Sum over distinct rows u of the bag of (total coefficient of u)^2. An id that occurs m times
  // counts m^2, not m: that is the trap which voids a guarantee.
  float squared(const Bags& bags, Pooling mode, std::size_t example);

 private:
  // Whether certainly no row occurs twice: asked first, because nearly always it is so, and a
  // filter tells it without a branch that depends on the ids.
  bool surely_distinct(std::span<const RowId> ids);

  // An open-addressing table whose entries of earlier bags are told by their stamp: nothing is ever
  // cleared, and nothing is sorted.
  struct Slot {
    RowId row = 0;
    std::uint32_t stamp = 0;
    float coefficient = 0.0f;
  };
  std::size_t find(RowId row);
  void start(std::size_t ids);

  static constexpr int kFilterBits = 16;  // eight kilobytes; all zeros between bags
  std::array<std::uint64_t, (std::size_t{1} << kFilterBits) / 64> filter_{};
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> used_;  // slots of this bag
  std::uint32_t stamp_ = 0;
};

// One call of a table: `bags_per_example` bags for each example, one after the other, and the
// gradient of each bag's pooled vector.
struct TableCall {
  const Bags* bags = nullptr;
  Pooling mode = Pooling::sum;
  ConstMatrixView gradients;  // bags x dim
  std::size_t bags_per_example = 1;
};

// Adds to squared[i] the squared norm of example i's gradient of the table, which has one bag for
// each example: sum over rows u of (total coefficient of u)^2 x |gradient of the bag|^2. What a row
// receives from its bag m times counts m^2.
void add_squared_table_norms(const TableCall& call, std::span<float> squared);

// The gradients of a table row by row: each example names each of its rows once.
struct MergedRows {
  Bags bags;                       // of one row each, example after example
  Matrix values;                   // bags x dim: what the row receives from the example
  std::vector<std::size_t> first;  // of example i's rows among the bags; the last is their number
};

// Adds up, in double precision, what an example gives a row in all bags of all calls. Terms of one
// example may cancel: a norm of what is left, and a sum of what was given, would not be of the same
// gradient. Whoever clips the merged rows and applies those very values applies what was measured.
MergedRows merge_rows(std::span<const TableCall> calls, std::size_t examples);

// Adds to squared[i] the squared norm of example i's rows.
void add_squared_norms(const MergedRows& rows, std::span<float> squared);

}  // namespace lazydp
