#pragma once
// The norm of one example's gradient of one table, without forming it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lazydp/data/batch.h"
#include "lazydp/embedding/pooling.h"

namespace lazydp {

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

}  // namespace lazydp
