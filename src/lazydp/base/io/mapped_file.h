#pragma once
// Files seen as read-only memory, and the file that a mapped address belongs to.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace lazydp {

// Registers the file `path` as mapped from `begin` on, as long as this object lives: a signal
// handler can then name the file of an address that could not be read. There is room for a few
// hundred; further ones are not registered.
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

// Returns the path of the file that is mapped at `address`, or null if none is registered. Safe in
// a signal handler: takes no lock and allocates no memory.
const char* file_mapped_at(const void* address);

// A read-only mapping of a whole file. If the file is cut short while it is mapped, reading the
// missing part raises SIGBUS: see MappedRegion.
class MappedFile {
 public:
  enum class Access : std::uint8_t { sequential, random };  // expected order of reads: a hint

  // Throws IoError, with the path and the system's reason, for anything but a regular file.
  MappedFile(const std::string& path, Access access);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Tells the system that this part of bytes() will be read soon, so that it may prefetch it.
  void will_need(std::span<const std::byte> part) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  MappedRegion region_;
};

}  // namespace lazydp
