#pragma once
// Norms of examples' gradients of one table, for any number of look-ups and calls.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/data/batch.h"
#include "lazydp/embedding/pooling.h"

namespace lazydp {

// Numbers the distinct rows of a list 0, 1, … in the order in which they come.
//
// An open-addressing table whose entries of earlier lists have another stamp: it is never cleared,
// and nothing is sorted. Keeps its memory from list to list.
class RowNumbers {
 public:
  // Begins a list of at most `rows` rows.
  void start(std::size_t rows);

  // Returns the row's number: count() as it was before, if the row has not come yet.
  std::uint32_t number(RowId row);

  std::uint32_t count() const { return count_; }

 private:
  struct Slot {
    RowId row = 0;
    std::uint32_t stamp = 0;
    std::uint32_t number = 0;
  };

  std::vector<Slot> slots_;
  std::uint32_t stamp_ = 0;
  std::uint32_t count_ = 0;
};

// Computes the norm of one example's gradient of one table without forming it.
//
// Sums, row by row, the coefficients of a bag's occurrences: the bag's gradient is that sum times
// the gradient of the pooled vector. Keeps its memory from bag to bag; each thread has its own.
class BagCoefficients {
 public:
  // Returns the sum over distinct rows u of the bag of (total coefficient of u)^2. An id that
  // occurs m times counts m^2, not m: counting m would void the guarantee.
  float squared(const Bags& bags, Pooling mode, std::size_t example);

 private:
  // Returns whether certainly no row occurs twice. Called first, because that is nearly always so,
  // and a filter tells it without a branch that depends on the ids.
  bool surely_distinct(std::span<const RowId> ids);

  static constexpr int kFilterBits = 16;  // eight kilobytes; all zeros between bags
  std::array<std::uint64_t, (std::size_t{1} << kFilterBits) / 64> filter_{};
  RowNumbers numbers_;
  std::vector<float> coefficients_;  // by row number
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
// each example: sum over rows u of (total coefficient of u)^2 x |gradient of the bag|^2. A row that
// occurs m times in its bag counts m^2.
void add_squared_table_norms(const TableCall& call, std::span<float> squared);

// The gradients of a table by row: each example has each of its rows once.
struct MergedRows {
  Bags bags;                       // one row each, example after example
  Matrix values;                   // bags x dim: gradient of the row for the example
  std::vector<std::size_t> first;  // index of example i's first bag; the last is the number of bags
};

// Sums, in double precision, an example's gradient of each row over all bags of all calls. Terms of
// one example may cancel, so that the norm of the merged sum and the sum of the unmerged terms
// could belong to different gradients. A caller that clips the merged rows and applies these very
// values applies what was measured.
MergedRows merge_rows(std::span<const TableCall> calls, std::size_t examples);

// Adds to squared[i] the squared norm of example i's rows.
void add_squared_norms(const MergedRows& rows, std::span<float> squared);

}  // namespace lazydp
