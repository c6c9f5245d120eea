#pragma once
// BLAKE2b-256: what `b2sum -l 256` computes.

#include <sodium.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace lazydp {

class Digest {
 public:
  Digest() { crypto_generichash_init(&state_, nullptr, 0, kBytes); }

  void add(std::span<const std::byte> bytes) {
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size());
  }

  // In hexadecimal. Ends it.
  std::string text() {
    std::array<unsigned char, kBytes> bytes;
    crypto_generichash_final(&state_, bytes.data(), bytes.size());
    std::string hex(2 * kBytes + 1, '\0');
    sodium_bin2hex(hex.data(), hex.size(), bytes.data(), bytes.size());
    hex.pop_back();
    return hex;
  }

 private:
  static constexpr std::size_t kBytes = 32;
  crypto_generichash_state state_;
};

}  // namespace lazydp
