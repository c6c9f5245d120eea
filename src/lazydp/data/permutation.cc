#include "lazydp/data/permutation.h"

#include <algorithm>
#include <bit>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

// The finalizer of SplitMix64 (Steele, Lea and Flood 2014): every bit of the input flips every bit
// of the output about half the time.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

Permutation::Permutation(std::uint64_t size, const Keys& keys) : size_(size), keys_(keys) {
  check(size >= 1 && size <= std::uint64_t{1} << 62, "size of a permutation");
  const int bits = std::max(2, static_cast<int>(std::bit_width(size - 1)));
  low_bits_ = bits / 2;
  low_mask_ = (std::uint64_t{1} << low_bits_) - 1;
  high_mask_ = (std::uint64_t{1} << (bits - low_bits_)) - 1;
}

std::uint64_t Permutation::operator()(std::uint64_t i) const {
  check(i < size_, "index within permutation");
  do i = pass(i);
  while (i >= size_);
  return i;
}

// Each half in turn is masked by a function of the other, which the same steps in reverse undo.
std::uint64_t Permutation::pass(std::uint64_t i) const {
  std::uint64_t low = i & low_mask_;
  std::uint64_t high = i >> low_bits_;
  for (std::size_t round = 0; round < kRounds; round += 2) {
    high ^= mix(low + keys_[round]) & high_mask_;
    low ^= mix(high + keys_[round + 1]) & low_mask_;
  }
  return high << low_bits_ | low;
}

}  // namespace lazydp
