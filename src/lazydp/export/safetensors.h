#pragma once
// Writes and reads weights in the format that PyTorch and most others load:
// https://github.com/huggingface/safetensors

#include <sodium.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lazydp/base/io/atomic_file.h"

namespace lazydp {

// BLAKE2b-256, which `b2sum -l 256` computes.
class Digest {
 public:
  Digest() { crypto_generichash_init(&state_, nullptr, 0, kBytes); }

  void add(std::span<const std::byte> bytes) {
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size());
  }

  // Returns the digest in hexadecimal, and ends the hash.
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

struct TensorSource {
  std::string name;
  std::vector<std::size_t> shape;
  std::span<const float> values = {};
  std::span<const std::int8_t> small_values = {};  // in their place: a tensor of eight-bit numbers
  // Replaces `values` for a tensor that is not in memory: passes all of its values on, in order.
  using Pass = std::function<void(std::span<const float>)>;
  std::function<void(const Pass& pass)> stream = {};
};

using Metadata = std::map<std::string, std::string>;

// Writes the file whole or not at all, with every byte allocated. Returns its BLAKE2b-256 in
// hexadecimal, as `b2sum -l 256` prints it.
std::string write_safetensors(const std::string& path, std::span<const TensorSource> tensors,
                              const Metadata& metadata, mode_t mode = kReadableFile);

// An opened file: its header has been checked, its weights have not been read. Files are not
// trusted: whatever a header says, nothing outside the file or the caller's memory is touched.
class SafetensorsFile {
 public:
  // Throws IoError for a file that cannot be read, UserError for one of another format.
  explicit SafetensorsFile(std::string path);

  enum class Type : std::uint8_t { f32, i8 };
  struct Tensor {
    std::string name;
    std::vector<std::size_t> shape;
    std::uint64_t begin = 0;  // offset in the file
    std::uint64_t end = 0;
    Type type = Type::f32;
  };
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }

  // Throws UserError unless the file has a tensor of this name with so many floats.
  void read(const std::string& name, std::span<float> values) const;

  // The same of a tensor of eight-bit numbers.
  void read(const std::string& name, std::span<std::int8_t> values) const;

  // Reads a part of a tensor: its floats first, first + 1, …
  void read_part(const Tensor& tensor, std::uint64_t first, std::span<float> values) const;

  // Returns the tensor of this name; null if there is none.
  const Tensor* find(const std::string& name) const;

  const std::string& path() const { return path_; }

  // Returns the digest of all bytes of the file, as write_safetensors() returns it.
  std::string digest() const;

 private:
  void read_bytes(const std::string& name, Type type, std::span<std::byte> bytes) const;

  std::string path_;
  std::vector<Tensor> tensors_;
  Metadata metadata_;
};

}  // namespace lazydp
