#pragma once
// A file that is written as memory and grows: room on the disk is taken before it is touched.

#include <cstddef>
#include <cstdint>
#include <string>

#include "lazydp/base/io/mapped_file.h"

namespace lazydp {

// The address of its bytes never changes. Whoever writes to memory that lies in a hole of a file on
// a full disk is ended by the system; here every byte below size() has its place on the disk, so a
// disk that fills is an IoError of grow(), with the path and the system's reason.
class GrowingFile {
 public:
  enum class Name : std::uint8_t { kept, none };  // none: gone when the program ends, however

  // Opens or makes a file for its owner only, in which up to `most` bytes will be used.
  GrowingFile(const std::string& path, std::uint64_t most, Name name);
  GrowingFile(GrowingFile&& other) noexcept;
  GrowingFile& operator=(GrowingFile&&) = delete;
  ~GrowingFile();

  std::byte* data() const { return data_; }
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

  // Makes it at least so large, and by enough that this is seldom asked for. New bytes are zeros.
  void grow(std::uint64_t size);

  // Leaves nothing in it.
  void clear();

  // What was written is on the device when this returns.
  void flush();

  // These bytes will be read soon: the system may start to fetch them.
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
