#include "lazydp/base/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include "lazydp/base/error.h"

namespace lazydp {

namespace {

struct Entry {
  std::atomic<bool> taken = false;
  std::atomic<std::uintptr_t> begin = 0;  // 0: the other fields may not be read
  std::atomic<std::size_t> bytes = 0;
  std::array<char, 232> path{};
};

// A signal handler can reach nothing but a global.
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

namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : path_(path) {
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) fail();
  }
  ~OpenFile() { close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  std::size_t size() const {
    struct stat status = {};
    if (fstat(file_, &status) != 0) fail();
    if (!S_ISREG(status.st_mode)) {
      throw IoError("cannot read '" + path_ + "': it is not a regular file");
    }
    return static_cast<std::size_t>(status.st_size);
  }

  const std::byte* map(std::size_t size) const {
    void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file_, 0);
    if (data == MAP_FAILED) fail();
    return static_cast<const std::byte*>(data);
  }

 private:
  [[noreturn]] void fail() const { throw system_failure("cannot read '" + path_ + "'"); }

  const std::string& path_;
  int file_;
};

}  // namespace

MappedFile::MappedFile(const std::string& path, Access access) : path_(path) {
  const OpenFile file(path);
  size_ = file.size();
  if (size_ == 0) return;
  data_ = file.map(size_);
  region_ = MappedRegion(data_, size_, path);
  madvise(const_cast<std::byte*>(data_), size_,
          access == Access::random ? MADV_RANDOM : MADV_SEQUENTIAL);
}

void MappedFile::will_need(std::span<const std::byte> part) const {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<std::size_t>(part.data() - data_) / page * page;
  const auto end = static_cast<std::size_t>(part.data() + part.size() - data_);
  madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_WILLNEED);  // a hint
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace lazydp
