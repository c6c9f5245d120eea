#pragma once
// Bytes of an input, whatever they are packed in.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace lazydp {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Fills `out` from its start; fewer bytes than there is room for only at the end. Throws IoError
  // if the input cannot be read, is cut short, or is not what its first bytes promised.
  virtual std::size_t read(std::span<char> out) = 0;
};

// "-" is standard input. Whether it is packed with gzip or zstd, its first bytes tell, not its
// name. `packed_bytes`, if given, counts what was read of the input itself.
std::unique_ptr<ByteSource> open_source(const std::string& path,
                                        std::uint64_t* packed_bytes = nullptr);

// The same by what is read from `raw`, under a name for complaints.
std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> raw, const std::string& name);

// Streams packed with gzip or zstd, also several one after the other.
std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed, std::string name);
std::unique_ptr<ByteSource> unpack_zstd(std::unique_ptr<ByteSource> packed, std::string name);

}  // namespace lazydp
