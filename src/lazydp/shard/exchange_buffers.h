#pragma once
// One buffer of the vectors that travel between ranks: a block for each rank and table.

#include <cstddef>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/shard/communicator.h"

namespace lazydp {

// The blocks lie rank after rank; a block that does not travel has no floats.
class ExchangeBuffers {
 public:
  // Lays out the blocks: floats(p, k) is the size of the block of rank p and table k.
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
