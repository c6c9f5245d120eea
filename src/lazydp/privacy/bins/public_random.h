#pragma once
// Pseudo-random numbers for Monte Carlo integration. Not secret: never for noise or samples.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

namespace lazydp {

// xoshiro256++ (Blackman, Vigna 2019), seeded by splitmix64.
class PublicRandom {
 public:
  explicit PublicRandom(std::uint64_t seed) {
    for (std::uint64_t& word : state_) {
      seed += 0x9e3779b97f4a7c15;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
      z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
      word = z ^ (z >> 31);
    }
  }

  // Returns a number in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Fills `values` with independent standard normals: Marsaglia's polar method.
  void normals(std::span<double> values) {
    for (std::size_t i = 0; i < values.size(); i += 2) {
      double x = 0.0, y = 0.0, square = 0.0;
      do {
        x = 2 * uniform() - 1;
        y = 2 * uniform() - 1;
        square = x * x + y * y;
      } while (square >= 1 || square == 0);
      const double scale = std::sqrt(-2 * std::log(square) / square);
      values[i] = x * scale;
      if (i + 1 < values.size()) values[i + 1] = y * scale;
    }
  }

 private:
  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  std::array<std::uint64_t, 4> state_{};
};

}  // namespace lazydp
