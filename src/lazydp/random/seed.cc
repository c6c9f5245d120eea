#include "lazydp/random/seed.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "lazydp/base/error.h"

namespace lazydp {

Seed::Seed(const Bytes& bytes, bool secret) : master_(expand_key(bytes)), secret_(secret) {}

Seed::~Seed() {
  explicit_bzero(&master_, sizeof(master_));
}

Seed Seed::from_os() {
  Bytes bytes;
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw system_failure("the operating system gave no random bytes for the key");
    }
    have += static_cast<std::size_t>(got);
  }
  const Seed seed(bytes, true);
  explicit_bzero(bytes.data(), bytes.size());
  return seed;
}

Seed Seed::fixed(std::uint64_t value) {
  Bytes bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(value >> (8 * i));
  return {bytes, false};
}

Seed::Bytes Seed::reveal() const {
  Bytes bytes;
  // The first round key is the key itself.
  std::copy_n(master_.round_keys.begin(), bytes.size(), bytes.begin());
  return bytes;
}

Seed Seed::successor() const {
  if (secret_) return from_os();
  const AesBlock block = encrypt(master_, {.high = ~std::uint64_t{0}, .low = ~std::uint64_t{0}});
  Bytes bytes;
  std::memcpy(bytes.data(), block.data(), bytes.size());
  return {bytes, false};
}

AesKey Seed::derive(Purpose purpose, TableId table, std::uint32_t range) const {
  const Counter label = {.high = static_cast<std::uint64_t>(purpose),
                         .low = std::uint64_t{table} << 32 | range};
  const AesBlock block = encrypt(master_, label);
  std::array<std::uint8_t, 16> key;
  std::memcpy(key.data(), block.data(), key.size());
  const AesKey out = expand_key(key);
  explicit_bzero(key.data(), key.size());
  return out;
}

}  // namespace lazydp
