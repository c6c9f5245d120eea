#pragma once
// A stream of uniform bits from one address: for sampling, initial values and synthetic data.

#include <array>
#include <cstddef>
#include <cstdint>

#include "lazydp/kernels/aes.h"
#include "lazydp/random/cell.h"
#include "lazydp/random/seed.h"

namespace lazydp {

// The stream of a model's dense weights. No table has this id: a model has at most 65,000 tables.
inline constexpr TableId kDenseStream = 65535;

// The sequence is a pure function of (seed, purpose, stream, step, first row). Its blocks are the
// cells of that row and the rows after it, so it does not end; a reader that has a row of its own
// takes no more than the 2^15 words of that row's cell.
class RandomStream {
 public:
  RandomStream(const Seed& seed, Purpose purpose, TableId stream, Step step, RowId first_row = 0);

  std::uint32_t next32();
  std::uint64_t next64();
  double uniform();                          // in (0, 1), 53 bits, never 0 nor 1
  std::uint64_t below(std::uint64_t bound);  // uniform in [0, bound), without bias; bound > 0
  double normal();                           // standard normal, for data; noise has its own kernels

 private:
  void refill();

  static constexpr std::size_t kWords = 256;  // a buffer of 64 blocks
  AesKey key_;
  Counter next_block_;
  std::uint64_t blocks_drawn_ = 0;
  std::array<std::uint32_t, kWords> words_;
  std::size_t position_ = kWords;
};

}  // namespace lazydp
