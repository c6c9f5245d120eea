// The cipher agrees with the standard's own example.

#include "lazydp/kernels/aes.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "lazydp/kernels/noise.h"

namespace lazydp {
namespace {

// FIPS 197, appendix C.1: key 00…0f, plain text 00 11 … ff, cipher text 69c4e0d8…c55a.
constexpr Counter kPlain = {.high = 0xffeeddccbbaa9988, .low = 0x7766554433221100};
constexpr AesBlock kCipher = {0xd8e0c469, 0x30047b6a, 0x80b7cdd8, 0x5ac5b470};

AesKey standard_key() {
  std::array<std::uint8_t, 16> key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(i);
  return expand_key(key);
}

TEST(Aes, GivesTheAnswerOfTheStandard) {
  EXPECT_EQ(encrypt(standard_key(), kPlain), kCipher);
}

TEST(Aes, EveryInstructionSetGivesTheAnswerOfTheStandard) {
  for (const NoisePath& path : noise_paths()) {
    std::array<AesBlock, 1> out;
    path.fill_random(standard_key(), kPlain, out);
    EXPECT_EQ(out[0], kCipher) << path.name;
  }
}

TEST(Aes, EveryInstructionSetCountsAlike) {
  for (const std::size_t blocks : {1u, 7u, 8u, 15u, 16u, 17u, 100u}) {
    std::vector<AesBlock> out(blocks);
    for (const NoisePath& path : noise_paths()) {
      path.fill_random(standard_key(), kPlain, out);
      for (std::size_t b = 0; b < blocks; ++b) {
        EXPECT_EQ(out[b], encrypt(standard_key(), {kPlain.high, kPlain.low + b})) << path.name;
      }
    }
  }
}

}  // namespace
}  // namespace lazydp
