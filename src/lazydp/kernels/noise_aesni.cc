// The noise kernels for AVX2 with AES-NI: encrypts eight blocks at a time.

#if defined(__x86_64__)

#include "lazydp/kernels/noise.h"
#include "lazydp/kernels/noise_body.h"
#include "lazydp/kernels/simd_avx2.h"

namespace lazydp {
namespace {

struct AesniSimd : Avx2Simd {
  template <class Next>
  LAZYDP_INLINE void encrypt(const AesKey& key, Next&& next, std::uint32_t* words,
                             std::size_t blocks) {
    auto* data = reinterpret_cast<__m128i*>(words);
    std::size_t b = 0;
    for (; b + 8 <= blocks; b += 8) {
      __m128i x[8];
#pragma GCC unroll 4
      for (int i = 0; i < 8; i += 2) {
        const __m256i two = next();
        x[i] = _mm_xor_si128(_mm256_castsi256_si128(two), round_key(key, 0));
        x[i + 1] = _mm_xor_si128(_mm256_extracti128_si256(two, 1), round_key(key, 0));
      }
#pragma GCC unroll 9
      for (int round = 1; round < 10; ++round) {
        const __m128i k = round_key(key, round);
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) x[i] = _mm_aesenc_si128(x[i], k);
      }
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {
        _mm_storeu_si128(data + b + i, _mm_aesenclast_si128(x[i], round_key(key, 10)));
      }
    }
    encrypt_rest(key, next, data + b, blocks - b);
  }
};

}  // namespace

const NoisePath kAesniPath = {
    "aesni",
    [] {
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("aes");
    },
    add_noise_body<AesniSimd>,
    fill_normals_body<AesniSimd>,
    fill_random_body<AesniSimd>,
};

}  // namespace lazydp

#endif  // defined(__x86_64__)
