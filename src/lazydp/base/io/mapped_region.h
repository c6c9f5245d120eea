#pragma once
// Which file an address belongs to, for whoever must say so when reading it fails.

#include <cstddef>
#include <string>
#include <utility>

namespace lazydp {

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

}  // namespace lazydp
