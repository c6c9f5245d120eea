#pragma once
// A file seen as read-only memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "lazydp/base/io/mapped_region.h"

namespace lazydp {

// Should the file be cut short while it is mapped, whoever reads what is gone gets SIGBUS: see
// mapped_region.h.
class MappedFile {
 public:
  enum class Access : std::uint8_t { sequential, random };  // how it will be read: a hint

  // Throws IoError, with the path and the system's reason, for anything but a regular file.
  MappedFile(const std::string& path, Access access);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Part of bytes() will be read soon: the system may start to fetch it.
  void will_need(std::span<const std::byte> part) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  MappedRegion region_;
};

}  // namespace lazydp
