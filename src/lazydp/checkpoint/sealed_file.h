#pragma once
// A file of secrets: read back whole, or not at all. Every few megabytes carry a checksum or, with
// a passphrase, are encrypted and authenticated (libsodium's secretstream: XChaCha20-Poly1305).
//
//   "LZDPSEAL" | version u32 | locked u32 | locked: salt 16, secretstream header 24 | checksum u64
//   frames: length u32 (top bit: the last one) | bytes | checksum u64, or the 17 bytes of a tag
//
// All numbers are little-endian. A checksum is XXH3 seeded with the frame's number, so that frames
// cannot change places unnoticed either.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazydp/base/io/atomic_file.h"

struct crypto_secretstream_xchacha20poly1305_state;

namespace lazydp {

// The passphrase, or a key file's content, that opens an encrypted file. Wiped when it is
// destroyed.
class Passphrase {
 public:
  explicit Passphrase(std::string secret) : secret_(std::move(secret)) {}
  Passphrase(const Passphrase&) = default;
  Passphrase& operator=(const Passphrase&) = default;
  ~Passphrase();

  using Salt = std::array<std::uint8_t, 16>;
  using Key = std::array<std::uint8_t, 32>;

  // Derives the key by Argon2id: as slow for an attacker's guess as here, some tenths of a second.
  Key key(const Salt& salt) const;

 private:
  std::string secret_;
};

class SealedWriter {
 public:
  // Writes to `file`, which the caller commits after finish().
  SealedWriter(AtomicFile& file, const Passphrase* passphrase);
  ~SealedWriter();

  void write(std::span<const std::byte> bytes);
  void finish();

 private:
  void frame(std::span<const std::byte> bytes, bool last);

  AtomicFile& file_;
  std::unique_ptr<crypto_secretstream_xchacha20poly1305_state> cipher_;  // null: not encrypted
  std::uint64_t frames_ = 0;
  std::vector<std::byte> pending_;
  std::vector<std::byte> encrypted_;
};

class SealedReader {
 public:
  // Throws IoError for a file that is damaged, UserError for one that this program or this
  // passphrase cannot open.
  SealedReader(const std::string& path, const Passphrase* passphrase);
  ~SealedReader();

  // Returns whether a file needs a passphrase.
  static bool locked(const std::string& path);

  void read(std::span<std::byte> bytes);
  void skip(std::uint64_t bytes);

  // Throws unless all has been read.
  void finish();

  const std::string& path() const { return path_; }

 private:
  friend void verify_sealed(const std::string& path, const Passphrase* passphrase);
  void next_frame();
  void from_file(void* bytes, std::size_t count);
  [[noreturn]] void damaged(const std::string& why) const;

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::unique_ptr<crypto_secretstream_xchacha20poly1305_state> cipher_;
  std::uint64_t frames_ = 0;
  bool last_ = false;
  std::vector<std::byte> raw_;
  std::vector<std::byte> frame_;
  std::size_t used_ = 0;  // bytes of frame_ that were read
};

// Reads a file from end to end, for callers that must know whether it is whole before they rely on
// it. Throws as SealedReader does.
void verify_sealed(const std::string& path, const Passphrase* passphrase);

}  // namespace lazydp
