#pragma once
// A file seen as read-only memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace lazydp {

// Which file an address belongs to, for whoever must say so when reading it fails.

// A file that is mapped from `begin` on, as long as this lives. There is room for a few hundred;
// more stay unknown.
class MappedRegion {
 public:
  MappedRegion() = default;
  MappedRegion(const void* begin, std::size_t bytes, const std::string& path);
  MappedRegion(MappedRegion&& other) noexcept : entry_(std::exchange(other.entry_, kNone)) {}
  MappedRegion& operator=(MappedRegion&& other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~MappedRegion();

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t entry_ = kNone;
};

// The path of the file that is mapped there, null if none is known. For signal handlers, too: takes
// no lock and no memory.
const char* file_mapped_at(const void* address);

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
