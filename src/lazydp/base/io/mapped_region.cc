#include "lazydp/base/io/mapped_region.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace lazydp {
namespace {

struct Entry {
  std::atomic<bool> taken = false;
  std::atomic<std::uintptr_t> begin = 0;  // 0: not to be read
  std::atomic<std::size_t> bytes = 0;
  std::array<char, 232> path{};
};

// A signal handler can reach nothing else.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
std::array<Entry, 512> entries;

}  // namespace

MappedRegion::MappedRegion(const void* begin, std::size_t bytes, const std::string& path) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    Entry& entry = entries[i];
    if (entry.taken.exchange(true)) continue;
    entry.path.fill('\0');
    std::copy_n(path.data(), std::min(path.size(), entry.path.size() - 1), entry.path.data());
    entry.bytes = bytes;
    entry.begin = reinterpret_cast<std::uintptr_t>(begin);
    entry_ = i;
    return;
  }
}

MappedRegion::~MappedRegion() {
  if (entry_ == kNone) return;
  entries[entry_].begin = 0;
  entries[entry_].taken = false;
}

const char* file_mapped_at(const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (const Entry& entry : entries) {
    const std::uintptr_t begin = entry.begin;
    if (begin != 0 && at >= begin && at - begin < entry.bytes) return entry.path.data();
  }
  return nullptr;
}

}  // namespace lazydp
