#include "lazydp/checkpoint/sealed_file.h"

#include <sodium.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"

namespace lazydp {
namespace {

constexpr std::string_view kMagic = "LZDPSEAL";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kFrame = std::size_t{4} << 20;
constexpr std::uint32_t kLastBit = 0x80000000u;
constexpr std::size_t kTag = crypto_secretstream_xchacha20poly1305_ABYTES;

struct Head {
  char magic[8];
  std::uint32_t version;
  std::uint32_t locked;
  Passphrase::Salt salt;
  std::array<std::uint8_t, crypto_secretstream_xchacha20poly1305_HEADERBYTES> stream;
};
static_assert(sizeof(Head) == 56);

void need_sodium() {
  if (sodium_init() < 0) throw IoError("libsodium finds no source of random numbers");
}

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t frame, bool last) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), 2 * frame + (last ? 1 : 0));
}

unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

Passphrase::~Passphrase() {
  sodium_memzero(secret_.data(), secret_.size());
}

Passphrase::Key Passphrase::key(const Salt& salt) const {
  need_sodium();
  static_assert(std::tuple_size_v<Salt> == crypto_pwhash_SALTBYTES);
  Key key;
  if (crypto_pwhash(key.data(), key.size(), secret_.data(), secret_.size(), salt.data(),
                    crypto_pwhash_OPSLIMIT_INTERACTIVE, crypto_pwhash_MEMLIMIT_INTERACTIVE,
                    crypto_pwhash_ALG_ARGON2ID13) != 0) {
    throw std::bad_alloc();
  }
  return key;
}

SealedWriter::SealedWriter(AtomicFile& file, const Passphrase* passphrase) : file_(file) {
  need_sodium();
  Head head{};
  std::ranges::copy(kMagic, head.magic);
  head.version = kVersion;
  head.locked = passphrase != nullptr ? 1 : 0;
  if (passphrase != nullptr) {
    randombytes_buf(head.salt.data(), head.salt.size());
    Passphrase::Key key = passphrase->key(head.salt);
    cipher_ = std::make_unique<crypto_secretstream_xchacha20poly1305_state>();
    crypto_secretstream_xchacha20poly1305_init_push(cipher_.get(), head.stream.data(), key.data());
    sodium_memzero(key.data(), key.size());
  }
  file_.write(bytes_of(head));
  file_.write(bytes_of(checksum(bytes_of(head), 0, false)));
}

SealedWriter::~SealedWriter() {
  if (cipher_) sodium_memzero(cipher_.get(), sizeof(*cipher_));
  sodium_memzero(pending_.data(), pending_.size());
}

// Writes whole frames directly; the remaining bytes wait for more.
void SealedWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (pending_.empty() && bytes.size() >= kFrame) {
      frame(bytes.first(kFrame), false);
      bytes = bytes.subspan(kFrame);
      continue;
    }
    const std::size_t part = std::min(bytes.size(), kFrame - pending_.size());
    pending_.insert(pending_.end(), bytes.begin(),
                    bytes.begin() + static_cast<std::ptrdiff_t>(part));
    bytes = bytes.subspan(part);
    if (pending_.size() == kFrame) {
      frame(pending_, false);
      pending_.clear();
    }
  }
}

void SealedWriter::finish() {
  frame(pending_, true);
}

void SealedWriter::frame(std::span<const std::byte> bytes, bool last) {
  const auto length = static_cast<std::uint32_t>(bytes.size()) | (last ? kLastBit : 0u);
  file_.write(bytes_of(length));
  ++frames_;
  if (cipher_ == nullptr) {
    file_.write(bytes);
    file_.write(bytes_of(checksum(bytes, frames_, last)));
    return;
  }
  encrypted_.resize(bytes.size() + kTag);
  crypto_secretstream_xchacha20poly1305_push(
      cipher_.get(), raw(encrypted_.data()), nullptr,
      reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
      reinterpret_cast<const unsigned char*>(&length), sizeof(length),
      last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL : 0);
  file_.write(encrypted_);
}

bool SealedReader::locked(const std::string& path) {
  Head head{};
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             std::fclose);
  return file && std::fread(&head, sizeof(head), 1, file.get()) == 1 && head.locked == 1;
}

SealedReader::SealedReader(const std::string& path, const Passphrase* passphrase)
    : path_(path), file_(std::fopen(path.c_str(), "rbe"), std::fclose) {
  if (!file_) throw system_failure("cannot read " + path);
  need_sodium();
  Head head{};
  std::uint64_t sum = 0;
  from_file(&head, sizeof(head));
  from_file(&sum, sizeof(sum));
  if (std::string_view(head.magic, sizeof(head.magic)) != kMagic) {
    throw UserError(path + " is not a file of lazydp's");
  }
  if (head.version > kVersion) {
    throw UserError(path + " was written by a newer lazydp (format " +
                    std::to_string(head.version) + "; this one reads up to " +
                    std::to_string(kVersion) + ")");
  }
  if (sum != checksum(bytes_of(head), 0, false)) damaged("its header's checksum is wrong");
  // A key asserts that only its holders could have written the file.
  if (head.locked == 0 && passphrase != nullptr) {
    throw UserError(path + " is not encrypted, and a key is given; it may come from anywhere");
  }
  if (head.locked == 0) return;
  if (passphrase == nullptr) {
    throw UserError(path + " is encrypted; give --key-file");
  }
  Passphrase::Key key = passphrase->key(head.salt);
  cipher_ = std::make_unique<crypto_secretstream_xchacha20poly1305_state>();
  crypto_secretstream_xchacha20poly1305_init_pull(cipher_.get(), head.stream.data(), key.data());
  sodium_memzero(key.data(), key.size());
}

SealedReader::~SealedReader() {
  if (cipher_) sodium_memzero(cipher_.get(), sizeof(*cipher_));
  sodium_memzero(frame_.data(), frame_.size());
}

void SealedReader::read(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    if (used_ == frame_.size()) next_frame();
    const std::size_t part = std::min(bytes.size(), frame_.size() - used_);
    // Not memcpy: an empty frame has no memory to copy from.
    std::copy_n(frame_.data() + used_, part, bytes.data());
    used_ += part;
    bytes = bytes.subspan(part);
  }
}

void SealedReader::skip(std::uint64_t bytes) {
  constexpr std::uint64_t kAtATime = std::uint64_t{1} << 20;
  std::vector<std::byte> unwanted(std::min(bytes, kAtATime));
  while (bytes > 0) {
    const auto some = std::span(unwanted).first(std::min<std::uint64_t>(bytes, unwanted.size()));
    read(some);
    bytes -= some.size();
  }
}

void SealedReader::finish() {
  if (!last_ && used_ == frame_.size()) next_frame();
  if (used_ != frame_.size() || !last_) damaged("it holds more than it should");
  if (std::fgetc(file_.get()) != EOF) damaged("something follows its end");
}

void verify_sealed(const std::string& path, const Passphrase* passphrase) {
  SealedReader file(path, passphrase);
  while (!file.last_) file.next_frame();
  file.used_ = file.frame_.size();
  file.finish();
}

void SealedReader::next_frame() {
  if (last_) damaged("it ends too early");
  std::uint32_t length = 0;
  from_file(&length, sizeof(length));
  last_ = (length & kLastBit) != 0;
  const std::size_t size = length & ~kLastBit;
  if (size > kFrame) damaged("a frame is too long");
  ++frames_;
  frame_.resize(size);
  used_ = 0;
  if (cipher_ == nullptr) {
    std::uint64_t sum = 0;
    from_file(frame_.data(), size);
    from_file(&sum, sizeof(sum));
    if (sum != checksum(frame_, frames_, last_)) {
      damaged("the checksum of frame " + std::to_string(frames_) + " is wrong");
    }
    return;
  }
  raw_.resize(size + kTag);
  from_file(raw_.data(), raw_.size());
  unsigned char tag = 0;
  const int opened = crypto_secretstream_xchacha20poly1305_pull(
      cipher_.get(), raw(frame_.data()), nullptr, &tag, raw(raw_.data()), raw_.size(),
      reinterpret_cast<const unsigned char*>(&length), sizeof(length));
  if (opened != 0 && frames_ == 1) {
    throw UserError(path_ + " does not open with this key or passphrase");
  }
  const bool final = tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL;
  if (opened != 0 || final != last_)
    damaged("frame " + std::to_string(frames_) + " is not genuine");
}

void SealedReader::from_file(void* bytes, std::size_t count) {
  if (count > 0 && std::fread(bytes, count, 1, file_.get()) != 1) damaged("it is cut short");
}

void SealedReader::damaged(const std::string& why) const {
  throw IoError(path_ + " is damaged: " + why);
}

}  // namespace lazydp
