#pragma once
// The secret from which all randomness of a run comes, and the keys that are derived from it.

#include <array>
#include <cstdint>
#include <optional>

#include "lazydp/base/types.h"
#include "lazydp/kernels/aes.h"

namespace lazydp {

// The uses of random bits. Each purpose has keys of its own.
enum class Purpose : std::uint8_t {
  table_noise = 1,
  dense_noise = 2,
  sampling = 3,
  initialisation = 4,
  public_data = 5,     // synthetic data sets: under a fixed seed, not secret
  momentum_noise = 6,  // the second normal of rows that have a momentum
  selection = 7,    // a private search: how many trials, of which candidates, their scores' noise
  calibration = 8,  // of scores: the noise on their counts
};

class Seed {
 public:
  // Returns a seed from the operating system's generator. Throws IoError if it cannot give 16
  // random bytes: there is no weaker source to fall back on.
  static Seed from_os();

  // Returns a seed that the caller chose: runs repeat, their noise is predictable, and no privacy
  // is claimed.
  static Seed fixed(std::uint64_t value);

  // Returns the fixed seed of this value, or, without a value, one from the operating system.
  static Seed make(const std::optional<std::uint64_t>& value) {
    return value ? fixed(*value) : from_os();
  }

  // Returns the seed of the steps that follow a state that was settled and may have been published:
  // a fresh one for a secret seed, a function of this one for a fixed seed.
  Seed successor() const;

  // The secret itself, saved to and restored from a checkpoint.
  using Bytes = std::array<std::uint8_t, 16>;
  Bytes reveal() const;
  static Seed restored(const Bytes& bytes, bool secret) { return {bytes, secret}; }

  Seed(const Seed&) = default;
  Seed& operator=(const Seed&) = default;
  ~Seed();  // wipes the bytes

  bool secret() const { return secret_; }

  // Returns the key for one purpose, one table (or other stream) and one range of steps. Distinct
  // arguments give independent keys, none of which reveals anything of the seed: the seed is itself
  // an AES key and a sub-key is a block of its output.
  AesKey derive(Purpose purpose, TableId table, std::uint32_t range) const;

 private:
  Seed(const Bytes& bytes, bool secret);

  AesKey master_;
  bool secret_;
};

}  // namespace lazydp
