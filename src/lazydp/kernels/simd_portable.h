#pragma once
// Eight lanes in plain C++, operation for operation the same as simd_avx2.h.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lazydp/kernels/aes.h"

namespace lazydp {
namespace {

struct PortableSimd {
  using Narrow = PortableSimd;
  static constexpr std::size_t kGroups = 1;
  static constexpr std::size_t kBlocks = 2;  // counters in a vector
  using F = std::array<float, 8>;
  using I = std::array<std::int32_t, 8>;

  template <class R, class Op>
  static R each(Op&& op) {
    R r;
    for (std::size_t l = 0; l < 8; ++l) r[l] = op(l);
    return r;
  }

  static F set(float x) {
    return each<F>([&](std::size_t) { return x; });
  }
  static I set(std::int32_t x) {
    return each<I>([&](std::size_t) { return x; });
  }
  static I load_groups(const std::uint32_t* p) {
    I r;
    std::memcpy(r.data(), p, sizeof(r));
    return r;
  }
  static F load(const float* p) {
    return each<F>([&](std::size_t l) { return p[l]; });
  }
  static void store_groups(float* p, F x) { store(p, x); }
  static void store(float* p, F x) { std::memcpy(p, x.data(), sizeof(x)); }

  static F add(F a, F b) {
    return each<F>([&](std::size_t l) { return a[l] + b[l]; });
  }
  static F sub(F a, F b) {
    return each<F>([&](std::size_t l) { return a[l] - b[l]; });
  }
  static F mul(F a, F b) {
    return each<F>([&](std::size_t l) { return a[l] * b[l]; });
  }
  static F max(F a, F b) {
    return each<F>([&](std::size_t l) { return a[l] > b[l] ? a[l] : b[l]; });
  }
  static F sqrt(F a) {
    return each<F>([&](std::size_t l) { return std::sqrt(a[l]); });
  }
  // a * b + c, c - a * b and a * b - c, each rounded once.
  static F fma(F a, F b, F c) {
    return each<F>([&](std::size_t l) { return std::fma(a[l], b[l], c[l]); });
  }
  static F fnma(F a, F b, F c) {
    return each<F>([&](std::size_t l) { return std::fma(-a[l], b[l], c[l]); });
  }
  static F fms(F a, F b, F c) {
    return each<F>([&](std::size_t l) { return std::fma(a[l], b[l], -c[l]); });
  }
  // Negates each lane whose lowest bit is set.
  static F flip_sign(F a, I bits) {
    return each<F>([&](std::size_t l) { return (bits[l] & 1) != 0 ? -a[l] : a[l]; });
  }
  static F to_float(I a) {
    return each<F>([&](std::size_t l) { return static_cast<float>(a[l]); });
  }
  static F as_float(I a) {
    F r;
    std::memcpy(r.data(), a.data(), sizeof(r));
    return r;
  }
  static I as_int(F a) {
    I r;
    std::memcpy(r.data(), a.data(), sizeof(r));
    return r;
  }
  static I sub(I a, I b) {
    return each<I>([&](std::size_t l) { return a[l] - b[l]; });
  }
  static I bit_and(I a, I b) {
    return each<I>([&](std::size_t l) { return a[l] & b[l]; });
  }
  static I shift_right_logical(I a, int n) {
    return each<I>([&](std::size_t l) {
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(a[l]) >> n);
    });
  }
  static I shift_right_arithmetic(I a, int n) {
    return each<I>([&](std::size_t l) { return a[l] >> n; });
  }
  static I add(I a, I b) {
    return each<I>([&](std::size_t l) {
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(a[l]) +
                                       static_cast<std::uint32_t>(b[l]));
    });
  }
  static I min(I a, I b) {
    return each<I>([&](std::size_t l) { return std::min(a[l], b[l]); });
  }
  static I less(I a, I b) {
    return each<I>([&](std::size_t l) { return a[l] < b[l] ? -1 : 0; });
  }
  static unsigned sign_mask(I a) {
    unsigned mask = 0;
    for (std::size_t l = 0; l < 8; ++l) mask |= static_cast<unsigned>(a[l] < 0) << l;
    return mask;
  }
  static bool any_less(I a, I b) { return sign_mask(less(a, b)) != 0; }

  // Returns two consecutive counters; next() steps to the next two. A counter is four words, low
  // half first.
  static I counters(Counter first) {
    const std::array<std::uint64_t, 4> two = {first.low, first.high, first.low + 1, first.high};
    return std::bit_cast<I>(two);
  }
  static I next(I counters) {
    auto two = std::bit_cast<std::array<std::uint64_t, 4>>(counters);
    two[0] += 2;
    two[2] += 2;
    return std::bit_cast<I>(two);
  }
  // Encrypts `blocks` counters, of which `next()` returns two at a time.
  template <class Next>
  static void encrypt(const AesKey& key, Next&& next, std::uint32_t* words, std::size_t blocks) {
    std::array<std::uint64_t, 4> two;
    for (std::size_t b = 0; b < blocks; ++b) {
      if (b % 2 == 0) two = std::bit_cast<std::array<std::uint64_t, 4>>(next());
      const std::size_t half = b % 2 * 2;
      const AesBlock block = lazydp::encrypt(key, {.high = two[half + 1], .low = two[half]});
      std::memcpy(words + 4 * b, block.data(), sizeof(block));
    }
  }
  static std::uint32_t encrypt_one(const AesKey& key, Counter counter, std::size_t word) {
    return lazydp::encrypt(key, counter)[word];
  }
};

}  // namespace
}  // namespace lazydp
