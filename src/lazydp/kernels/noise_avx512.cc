// The noise kernels for AVX-512 with VAES: two groups to a vector, and twice as many registers.

#if defined(__x86_64__)

#if defined(__GNUC__) && !defined(__clang__)  // g++ 12 warns about its own AVX-512 headers
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include "lazydp/kernels/noise.h"
#include "lazydp/kernels/noise_body.h"
#include "lazydp/kernels/simd_avx2.h"

namespace lazydp {
namespace {

struct Avx512Simd {
  using Narrow = Avx2Simd;
  static constexpr std::size_t kGroups = 2;
  static constexpr std::size_t kBlocks = 4;
  using F = __m512;
  using I = __m512i;

  LAZYDP_INLINE F set(float x) { return _mm512_set1_ps(x); }
  LAZYDP_INLINE I set(std::int32_t x) { return _mm512_set1_epi32(x); }
  // Loads eight words of each of two groups, which lie sixteen words apart.
  LAZYDP_INLINE I load_groups(const std::uint32_t* p) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(Narrow::load_groups(p)),
                              Narrow::load_groups(p + box_muller::kGroup), 1);
  }
  LAZYDP_INLINE void store_groups(float* p, F x) {
    Narrow::store(p, _mm512_castps512_ps256(x));
    Narrow::store(p + box_muller::kGroup, _mm512_extractf32x8_ps(x, 1));
  }
  LAZYDP_INLINE F load(const float* p) { return _mm512_loadu_ps(p); }
  LAZYDP_INLINE void store(float* p, F x) { _mm512_storeu_ps(p, x); }

  LAZYDP_INLINE F add(F a, F b) { return _mm512_add_ps(a, b); }
  LAZYDP_INLINE F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  LAZYDP_INLINE F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  LAZYDP_INLINE F sqrt(F a) { return _mm512_sqrt_ps(a); }
  LAZYDP_INLINE F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  LAZYDP_INLINE F fnma(F a, F b, F c) { return _mm512_fnmadd_ps(a, b, c); }
  LAZYDP_INLINE F fms(F a, F b, F c) { return _mm512_fmsub_ps(a, b, c); }
  LAZYDP_INLINE F flip_sign(F a, I bits) {
    return _mm512_xor_ps(a, _mm512_castsi512_ps(_mm512_slli_epi32(bits, 31)));
  }
  LAZYDP_INLINE F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  LAZYDP_INLINE F as_float(I a) { return _mm512_castsi512_ps(a); }
  LAZYDP_INLINE I as_int(F a) { return _mm512_castps_si512(a); }
  LAZYDP_INLINE I sub(I a, I b) { return _mm512_sub_epi32(a, b); }
  LAZYDP_INLINE I bit_and(I a, I b) { return _mm512_and_si512(a, b); }
  LAZYDP_INLINE I shift_right_logical(I a, int n) {
    return _mm512_srli_epi32(a, static_cast<unsigned>(n));
  }
  LAZYDP_INLINE I shift_right_arithmetic(I a, int n) {
    return _mm512_srai_epi32(a, static_cast<unsigned>(n));
  }
  LAZYDP_INLINE I add(I a, I b) { return _mm512_add_epi32(a, b); }
  LAZYDP_INLINE I min(I a, I b) { return _mm512_min_epi32(a, b); }
  LAZYDP_INLINE bool any_less(I a, I b) { return _mm512_cmplt_epi32_mask(a, b) != 0; }

  // Returns four consecutive counters; next() steps to the next four.
  LAZYDP_INLINE I counters(Counter first) {
    const auto low = static_cast<long long>(first.low);
    const auto high = static_cast<long long>(first.high);
    return _mm512_set_epi64(high, low + 3, high, low + 2, high, low + 1, high, low);
  }
  LAZYDP_INLINE I next(I counters) {
    return _mm512_add_epi64(counters, _mm512_set_epi64(0, 4, 0, 4, 0, 4, 0, 4));
  }

  // Encrypts N vectors of counters.
  template <int N, class Next>
  LAZYDP_INLINE void encrypt_vectors(const AesKey& key, Next&& next, __m512i* out) {
    const auto wide_key = [&](int round) {
      return _mm512_broadcast_i32x4(Narrow::round_key(key, round));
    };
    __m512i x[N];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) x[i] = _mm512_xor_si512(next(), wide_key(0));
#pragma GCC unroll 9
    for (int round = 1; round < 10; ++round) {
      const __m512i k = wide_key(round);
#pragma GCC unroll 8
      for (int i = 0; i < N; ++i) x[i] = _mm512_aesenc_epi128(x[i], k);
    }
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
      _mm512_storeu_si512(out + i, _mm512_aesenclast_epi128(x[i], wide_key(10)));
    }
  }

  template <class Next>
  LAZYDP_INLINE void encrypt(const AesKey& key, Next&& next, std::uint32_t* words,
                             std::size_t blocks) {
    auto* out = reinterpret_cast<__m512i*>(words);
    std::size_t b = 0;
    for (; b + 32 <= blocks; b += 32, out += 8) encrypt_vectors<8>(key, next, out);
    for (; b + 4 <= blocks; b += 4, out += 1) encrypt_vectors<1>(key, next, out);
    if (b == blocks) return;
    __m512i last;
    encrypt_vectors<1>(key, next, &last);
    std::copy_n(reinterpret_cast<const __m128i*>(&last), blocks - b,
                reinterpret_cast<__m128i*>(out));
  }
};

}  // namespace

const NoisePath kAvx512Path = {
    "avx512",
    [] {
      return kVaesPath.available() && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512bw");
    },
    add_noise_body<Avx512Simd>,
    fill_normals_body<Avx512Simd>,
    fill_random_body<Avx512Simd>,
};

}  // namespace lazydp

#endif  // defined(__x86_64__)
