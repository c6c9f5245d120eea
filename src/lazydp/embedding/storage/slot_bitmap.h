#pragma once
// A set of a row file's slots as a bitmap: one bit a slot, so that its size is bounded by the
// file's.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lazydp {

class SlotBitmap {
 public:
  // Makes room for slots below `places`: only these may be queried and added.
  void grow(std::size_t places) {
    if (places / kBits >= words_.size()) words_.resize(places / kBits + 1);
  }

  bool has(std::size_t place) const { return (words_[place / kBits] >> (place % kBits) & 1) != 0; }
  void add(std::size_t place) { words_[place / kBits] |= bit(place); }
  void remove(std::size_t place) { words_[place / kBits] &= ~bit(place); }
  void clear() { std::ranges::fill(words_, 0); }

  void add_all(const SlotBitmap& other) {
    words_.resize(std::max(words_.size(), other.words_.size()));
    for (std::size_t i = 0; i < other.words_.size(); ++i) words_[i] |= other.words_[i];
  }

  // Returns the first member from `place` on, or none().
  std::size_t next(std::size_t place) const {
    for (std::size_t i = place / kBits; i < words_.size(); ++i) {
      const std::uint64_t word = i == place / kBits ? words_[i] & ~(bit(place) - 1) : words_[i];
      if (word != 0) return i * kBits + static_cast<std::size_t>(std::countr_zero(word));
    }
    return none();
  }
  static constexpr std::size_t none() { return ~std::size_t{0}; }

 private:
  static constexpr std::size_t kBits = 64;
  static std::uint64_t bit(std::size_t place) { return std::uint64_t{1} << (place % kBits); }

  std::vector<std::uint64_t> words_;
};

}  // namespace lazydp
