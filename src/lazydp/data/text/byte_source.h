#pragma once
// The bytes of an input, decompressed if it is compressed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace lazydp {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `out` from its start; returns fewer bytes than there is room for only at the end. Throws
  // IoError if the input cannot be read, is cut short, or is not in the format that its first bytes
  // announce.
  virtual std::size_t read(std::span<char> out) = 0;
};

// Opens a file; "-" is standard input. The first bytes, not the name, decide whether it is
// compressed with gzip or zstd. `packed_bytes`, if given, counts the bytes read of the input
// itself.
std::unique_ptr<ByteSource> open_source(const std::string& path,
                                        std::uint64_t* packed_bytes = nullptr);

// Decompresses `raw` if its first bytes say so; error messages use `name`.
std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> raw, const std::string& name);

// Decompress gzip or zstd, also several streams one after the other.
std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed, std::string name);
std::unique_ptr<ByteSource> unpack_zstd(std::unique_ptr<ByteSource> packed, std::string name);

}  // namespace lazydp
