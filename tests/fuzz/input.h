#pragma once
// Gives the input of a fuzzer as bytes, as text, or as a file that parsers can open by name.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "lazydp/base/error.h"

namespace lazydp {

// Feeds a target with one input, which it may refuse and must survive.
void try_input(const std::uint8_t* data, std::size_t size);

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A file in memory. Its bytes are what put() was last given.
class MemoryFile {
 public:
  MemoryFile() : file_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (file_ < 0) std::abort();
  }
  ~MemoryFile() { close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void put(std::string_view bytes) const {
    if (ftruncate(file_, 0) != 0) std::abort();
    if (pwrite(file_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

// Bad input may be refused in these two ways and in no other.
template <class Use>
void refuses_or(Use&& use) {
  try {
    use();
  } catch (const UserError&) {
  } catch (const IoError&) {
  }
}

}  // namespace lazydp
