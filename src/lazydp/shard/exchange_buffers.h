#pragma once
// Vectors that travel between ranks, in one array: a block for each rank and table.

#include <cstddef>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/shard/communicator.h"

namespace lazydp {

// Rank after rank; what does not travel has no floats.
class ExchangeBuffers {
 public:
  // floats(p, k): how many the block of rank p and table k has.
  template <class Floats>
  void lay_out(int ranks, std::size_t tables, Floats&& floats) {
    tables_ = tables;
    counts_.assign(static_cast<std::size_t>(ranks), 0);
    offsets_.clear();
    std::size_t end = 0;
    for (int p = 0; p < ranks; ++p) {
      const std::size_t begin = end;
      for (std::size_t k = 0; k < tables; ++k) {
        offsets_.push_back(end);
        end += floats(p, k);
      }
      counts_[static_cast<std::size_t>(p)] = end - begin;
    }
    values_.reserve(end + 1);
  }

  float* block(int p, std::size_t k) {
    return values_.data() + offsets_[static_cast<std::size_t>(p) * tables_ + k];
  }
  Slices<float> slices() { return {values_.data(), counts_}; }
  Slices<const float> slices() const { return {values_.data(), counts_}; }

 private:
  std::size_t tables_ = 0;
  std::vector<std::size_t> offsets_;
  std::vector<std::size_t> counts_;
  AlignedBuffer values_;
};

}  // namespace lazydp
