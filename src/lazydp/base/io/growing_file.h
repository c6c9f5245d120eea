#pragma once
// A memory-mapped file that grows and whose disk space is reserved before it is touched.

#include <cstddef>
#include <cstdint>
#include <string>

#include "lazydp/base/io/mapped_file.h"

namespace lazydp {

// The address of its bytes never changes. The system kills a process that writes to mapped memory
// in a hole of a file on a full disk; here every byte below size() has its place on the disk, so a
// full disk is an IoError of grow(), with the path and the system's reason.
class GrowingFile {
 public:
  // With `none` the file is gone when the program ends, however it ends.
  enum class Name : std::uint8_t { kept, none };

  // Opens or makes a file that only its owner may read, of which up to `most` bytes will be used.
  GrowingFile(const std::string& path, std::uint64_t most, Name name);
  GrowingFile(GrowingFile&& other) noexcept;
  GrowingFile& operator=(GrowingFile&&) = delete;
  ~GrowingFile();

  std::byte* data() const { return data_; }
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

  // Makes the file at least `size` bytes large, and by enough that this is seldom needed. New bytes
  // are zeros.
  void grow(std::uint64_t size);

  // Makes the file empty.
  void clear();

  // Writes all bytes to the device before it returns.
  void flush();

  // Tells the system that these bytes will be read soon, so that it may prefetch them.
  void will_need(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  [[noreturn]] void fail(const char* what, int why) const;

  std::string path_;
  int file_ = -1;
  std::byte* data_ = nullptr;
  std::uint64_t most_ = 0;
  std::uint64_t size_ = 0;
  MappedRegion region_;
};

}  // namespace lazydp
