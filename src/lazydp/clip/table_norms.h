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

// Tells lists of rows in which certainly none occurs twice, which nearly all are, without a branch
// that depends on the ids. Each thread has its own.
class DistinctRows {
 public:
  // False where two rows may be the same, and for long lists.
  bool surely(std::span<const RowId> ids);

 private:
  static constexpr int kFilterBits = 16;  // eight kilobytes; all zeros between lists
  std::array<std::uint64_t, (std::size_t{1} << kFilterBits) / 64> filter_{};
};

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
  DistinctRows distinct_;
  RowNumbers numbers_;
  std::vector<float> coefficients_;  // by row number
};

// One call of a table: the bags of each example, one after the other, and the gradient of each
// bag's pooled vector.
struct TableCall {
  const Bags* bags = nullptr;
  Pooling mode = Pooling::sum;
  ConstMatrixView gradients;  // bags x dim
  std::size_t bags_per_example = 1;
  std::span<const std::int64_t> first_bags = {};  // of examples that differ, and the end; or empty

  std::size_t first_bag(std::size_t example) const {
    return first_bags.empty() ? example * bags_per_example
                              : static_cast<std::size_t>(first_bags[example]);
  }
};

// Adds to squared[i] the squared norm of example i's gradient of the table, which has one bag for
// each example: sum over rows u of (total coefficient of u)^2 x |gradient of the bag|^2. A row that
// occurs m times in its bag counts m^2.
void add_squared_table_norms(const TableCall& call, std::span<float> squared);

// Does so for several tables in one loop: squared[k] has those of calls[k].
void add_squared_table_norms(std::span<const TableCall> calls,
                             std::span<const std::span<float>> squared);

}  // namespace lazydp
