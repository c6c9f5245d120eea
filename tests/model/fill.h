#pragma once
// Reproducible numbers for the tests of model/.

#include <cstdint>
#include <span>

namespace lazydp::testing {

// SplitMix64: independent of the library's own generators.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}

  double uniform() {  // in (0, 1)
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    return (static_cast<double>(z >> 11) + 0.5) * 0x1p-53;
  }

  void fill(std::span<float> values, double low = -1.0, double high = 1.0) {
    for (float& value : values) value = static_cast<float>(low + (high - low) * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace lazydp::testing
