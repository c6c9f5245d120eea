// The noise kernels for AVX2 with AES-NI: the cipher eight blocks at a time.

#include "lazydp/kernels/noise_body.h"
#include "lazydp/kernels/noise_paths.h"
#include "lazydp/kernels/simd_avx2.h"

namespace lazydp {
namespace {

struct AesniSimd : Avx2Simd {
  LAZYDP_INLINE void encrypt(const AesKey& key, std::uint32_t* words, std::size_t blocks) {
    auto* data = reinterpret_cast<__m128i*>(words);
    std::size_t b = 0;
    for (; b + 8 <= blocks; b += 8) {
      __m128i x[8];
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i)
        x[i] = _mm_xor_si128(_mm_loadu_si128(data + b + i), round_key(key, 0));
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
    for (; b < blocks; ++b) {
      _mm_storeu_si128(data + b, encrypt_block(key, _mm_loadu_si128(data + b)));
    }
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
