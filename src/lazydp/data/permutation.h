#pragma once
// A keyed shuffle of 0 ... n - 1 that is computed where it is asked for: no table, no memory.

#include <array>
#include <cstddef>
#include <cstdint>

namespace lazydp {

// A Feistel network permutes the smallest power of two that holds n; a value that lands outside is
// sent through again until it lands inside ("cycle walking"), fewer than two passes on average.
// Its round function is quick rather than secret: good for shuffling, not for privacy.
class Permutation {
 public:
  static constexpr std::size_t kRounds = 8;  // even, so that the halves end where they began
  using Keys = std::array<std::uint64_t, kRounds>;

  Permutation(std::uint64_t size, const Keys& keys);  // size in [1, 2^62]

  // Where `i` goes; a bijection of [0, size).
  std::uint64_t operator()(std::uint64_t i) const;

 private:
  std::uint64_t pass(std::uint64_t i) const;

  std::uint64_t size_;
  int low_bits_;
  std::uint64_t low_mask_;
  std::uint64_t high_mask_;
  Keys keys_;
};

}  // namespace lazydp
