#pragma once
// AES-128 as a keyed function from 128-bit counters to random blocks.

#include <array>
#include <cstdint>

namespace lazydp {

// An expanded key: eleven round keys of 16 bytes, in the order in which AES adds them.
struct AesKey {
  alignas(16) std::array<std::uint8_t, 176> round_keys{};
};

AesKey expand_key(const std::array<std::uint8_t, 16>& key);

// The 128-bit input of the cipher as two words; byte 0 of the block is the low byte of `low`.
struct Counter {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
};

using AesBlock = std::array<std::uint32_t, 4>;  // little-endian words of the cipher's output

// Encrypts one block in plain C++. The reference for the fast paths, and fast enough for single
// draws.
AesBlock encrypt(const AesKey& key, Counter counter);

}  // namespace lazydp
