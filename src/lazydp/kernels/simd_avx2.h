#pragma once
// Eight lanes in AVX2 registers. The including file adds the cipher: AES-NI or VAES.

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "lazydp/kernels/aes.h"

namespace lazydp {
namespace {

#define LAZYDP_INLINE static inline __attribute__((always_inline))

struct Avx2Simd {
  using Narrow = Avx2Simd;
  static constexpr std::size_t kGroups = 1;
  static constexpr std::size_t kBlocks = 2;  // counters in a vector
  using F = __m256;
  using I = __m256i;

  LAZYDP_INLINE F set(float x) { return _mm256_set1_ps(x); }
  LAZYDP_INLINE I set(std::int32_t x) { return _mm256_set1_epi32(x); }
  LAZYDP_INLINE I load_groups(const std::uint32_t* p) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
  }
  LAZYDP_INLINE void store_groups(float* p, F x) { store(p, x); }
  LAZYDP_INLINE F load(const float* p) { return _mm256_loadu_ps(p); }
  LAZYDP_INLINE void store(float* p, F x) { _mm256_storeu_ps(p, x); }

  LAZYDP_INLINE F add(F a, F b) { return _mm256_add_ps(a, b); }
  LAZYDP_INLINE F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  LAZYDP_INLINE F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  LAZYDP_INLINE F max(F a, F b) { return _mm256_max_ps(a, b); }
  LAZYDP_INLINE F sqrt(F a) { return _mm256_sqrt_ps(a); }
  LAZYDP_INLINE F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  LAZYDP_INLINE F fnma(F a, F b, F c) { return _mm256_fnmadd_ps(a, b, c); }
  LAZYDP_INLINE F fms(F a, F b, F c) { return _mm256_fmsub_ps(a, b, c); }
  LAZYDP_INLINE F flip_sign(F a, I bits) {
    return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32(bits, 31)));
  }
  LAZYDP_INLINE F to_float(I a) { return _mm256_cvtepi32_ps(a); }
  LAZYDP_INLINE F as_float(I a) { return _mm256_castsi256_ps(a); }
  LAZYDP_INLINE I as_int(F a) { return _mm256_castps_si256(a); }
  LAZYDP_INLINE I sub(I a, I b) { return _mm256_sub_epi32(a, b); }
  LAZYDP_INLINE I bit_and(I a, I b) { return _mm256_and_si256(a, b); }
  LAZYDP_INLINE I shift_right_logical(I a, int n) { return _mm256_srli_epi32(a, n); }
  LAZYDP_INLINE I shift_right_arithmetic(I a, int n) { return _mm256_srai_epi32(a, n); }
  LAZYDP_INLINE I add(I a, I b) { return _mm256_add_epi32(a, b); }
  LAZYDP_INLINE I min(I a, I b) { return _mm256_min_epi32(a, b); }
  LAZYDP_INLINE I less(I a, I b) { return _mm256_cmpgt_epi32(b, a); }  // all ones where a < b
  LAZYDP_INLINE unsigned sign_mask(I a) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(a)));
  }
  LAZYDP_INLINE bool any_less(I a, I b) { return sign_mask(less(a, b)) != 0; }

  // Returns two consecutive counters; next() steps to the next two.
  LAZYDP_INLINE I counters(Counter first) {
    const auto low = static_cast<long long>(first.low);
    const auto high = static_cast<long long>(first.high);
    return _mm256_set_epi64x(high, low + 1, high, low);
  }
  LAZYDP_INLINE I next(I counters) {
    return _mm256_add_epi64(counters, _mm256_set_epi64x(0, 2, 0, 2));
  }

  LAZYDP_INLINE __m128i round_key(const AesKey& key, int round) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(key.round_keys.data()) + round);
  }
  LAZYDP_INLINE __m128i encrypt_block(const AesKey& key, __m128i x) {
    x = _mm_xor_si128(x, round_key(key, 0));
#pragma GCC unroll 9
    for (int round = 1; round < 10; ++round) x = _mm_aesenc_si128(x, round_key(key, round));
    return _mm_aesenclast_si128(x, round_key(key, 10));
  }
  // Encrypts a few counters, of which `next()` returns two at a time.
  template <class Next>
  LAZYDP_INLINE void encrypt_rest(const AesKey& key, Next&& next, __m128i* out,
                                  std::size_t blocks) {
    for (std::size_t b = 0; b < blocks; b += 2) {
      const __m256i two = next();
      _mm_storeu_si128(out + b, encrypt_block(key, _mm256_castsi256_si128(two)));
      if (b + 1 == blocks) return;
      _mm_storeu_si128(out + b + 1, encrypt_block(key, _mm256_extracti128_si256(two, 1)));
    }
  }
  LAZYDP_INLINE std::uint32_t encrypt_one(const AesKey& key, Counter counter, std::size_t word) {
    alignas(16) std::uint32_t out[4];
    const auto block =
        _mm_set_epi64x(static_cast<long long>(counter.high), static_cast<long long>(counter.low));
    _mm_store_si128(reinterpret_cast<__m128i*>(out), encrypt_block(key, block));
    return out[word];
  }
};

}  // namespace
}  // namespace lazydp
