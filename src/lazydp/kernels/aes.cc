#include "lazydp/kernels/aes.h"

#include <cstddef>
#include <cstring>

namespace lazydp {
namespace {

using State = std::array<std::uint8_t, 16>;

constexpr std::uint8_t times_two(std::uint8_t x) {
  return static_cast<std::uint8_t>((x << 1) ^ ((x >> 7) * 0x1b));
}

// FIPS 197, section 5.1.1: the multiplicative inverse in GF(2^8), then an affine map. Built at
// compile time by walking the powers of the generator 3 and of its inverse together.
constexpr std::array<std::uint8_t, 256> make_sbox() {
  std::array<std::uint8_t, 256> sbox{};
  std::uint8_t p = 1;
  std::uint8_t q = 1;
  do {
    p = static_cast<std::uint8_t>(p ^ times_two(p));  // p *= 3
    q = static_cast<std::uint8_t>(q ^ (q << 1));      // q /= 3
    q = static_cast<std::uint8_t>(q ^ (q << 2));
    q = static_cast<std::uint8_t>(q ^ (q << 4));
    if ((q & 0x80) != 0) q ^= 0x09;
    const auto rotate = [](std::uint8_t x, int n) {
      return static_cast<std::uint8_t>((x << n) | (x >> (8 - n)));
    };
    sbox[p] = static_cast<std::uint8_t>(q ^ rotate(q, 1) ^ rotate(q, 2) ^ rotate(q, 3) ^
                                        rotate(q, 4) ^ 0x63);
  } while (p != 1);
  sbox[0] = 0x63;
  return sbox;
}

constexpr auto kSbox = make_sbox();

void add_round_key(State& state, const AesKey& key, std::size_t round) {
  for (std::size_t i = 0; i < 16; ++i) state[i] ^= key.round_keys[16 * round + i];
}

// SubBytes and ShiftRows in one: row r of column c comes from column c + r.
void substitute_and_shift(State& state) {
  State out;
  for (std::size_t c = 0; c < 4; ++c) {
    for (std::size_t r = 0; r < 4; ++r) out[4 * c + r] = kSbox[state[4 * ((c + r) % 4) + r]];
  }
  state = out;
}

void mix_columns(State& state) {
  for (std::size_t c = 0; c < 4; ++c) {
    std::uint8_t* s = state.data() + 4 * c;
    const std::uint8_t all = s[0] ^ s[1] ^ s[2] ^ s[3];
    const std::uint8_t first = s[0];
    for (std::size_t r = 0; r < 4; ++r) {
      const std::uint8_t next = r == 3 ? first : s[r + 1];
      s[r] = static_cast<std::uint8_t>(s[r] ^ all ^ times_two(s[r] ^ next));
    }
  }
}

}  // namespace

AesKey expand_key(const std::array<std::uint8_t, 16>& key) {
  AesKey out;
  auto& w = out.round_keys;
  std::memcpy(w.data(), key.data(), 16);
  std::uint8_t round_constant = 1;
  for (std::size_t i = 16; i < w.size(); i += 4) {
    std::array<std::uint8_t, 4> word = {w[i - 4], w[i - 3], w[i - 2], w[i - 1]};
    if (i % 16 == 0) {
      word = {static_cast<std::uint8_t>(kSbox[word[1]] ^ round_constant), kSbox[word[2]],
              kSbox[word[3]], kSbox[word[0]]};
      round_constant = times_two(round_constant);
    }
    for (std::size_t j = 0; j < 4; ++j) w[i + j] = w[i + j - 16] ^ word[j];
  }
  return out;
}

AesBlock encrypt(const AesKey& key, Counter counter) {
  State state;
  for (std::size_t i = 0; i < 8; ++i) {
    state[i] = static_cast<std::uint8_t>(counter.low >> (8 * i));
    state[8 + i] = static_cast<std::uint8_t>(counter.high >> (8 * i));
  }
  add_round_key(state, key, 0);
  for (std::size_t round = 1; round < 10; ++round) {
    substitute_and_shift(state);
    mix_columns(state);
    add_round_key(state, key, round);
  }
  substitute_and_shift(state);
  add_round_key(state, key, 10);
  AesBlock out;
  for (std::size_t i = 0; i < 4; ++i) {
    out[i] = static_cast<std::uint32_t>(state[4 * i]) |
             static_cast<std::uint32_t>(state[4 * i + 1]) << 8 |
             static_cast<std::uint32_t>(state[4 * i + 2]) << 16 |
             static_cast<std::uint32_t>(state[4 * i + 3]) << 24;
  }
  return out;
}

}  // namespace lazydp
