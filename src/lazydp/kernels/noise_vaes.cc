// The noise kernels for AVX2 with VAES: encrypts sixteen blocks at a time.

#if defined(__x86_64__)

#include "lazydp/kernels/noise.h"
#include "lazydp/kernels/noise_body.h"
#include "lazydp/kernels/simd_avx2.h"

namespace lazydp {
namespace {

struct VaesSimd : Avx2Simd {
  LAZYDP_INLINE __m256i wide_round_key(const AesKey& key, int round) {
    return _mm256_broadcastsi128_si256(round_key(key, round));
  }

  template <class Next>
  LAZYDP_INLINE void encrypt(const AesKey& key, Next&& next, std::uint32_t* words,
                             std::size_t blocks) {
    auto* pairs = reinterpret_cast<__m256i*>(words);
    std::size_t b = 0;
    for (; b + 16 <= blocks; b += 16, pairs += 8) {
      __m256i x[8];
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) x[i] = _mm256_xor_si256(next(), wide_round_key(key, 0));
#pragma GCC unroll 9
      for (int round = 1; round < 10; ++round) {
        const __m256i k = wide_round_key(key, round);
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) x[i] = _mm256_aesenc_epi128(x[i], k);
      }
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {
        _mm256_storeu_si256(pairs + i, _mm256_aesenclast_epi128(x[i], wide_round_key(key, 10)));
      }
    }
    encrypt_rest(key, next, reinterpret_cast<__m128i*>(pairs), blocks - b);
  }
};

bool cpu_has_vaes() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
  return (c >> 9 & 1u) != 0;
}

}  // namespace

const NoisePath kVaesPath = {
    "vaes",
    [] { return kAesniPath.available() && cpu_has_vaes(); },
    add_noise_body<VaesSimd>,
    fill_normals_body<VaesSimd>,
    fill_random_body<VaesSimd>,
};

}  // namespace lazydp

#endif  // defined(__x86_64__)
