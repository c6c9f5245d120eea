#include "lazydp/base/io/growing_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"

namespace lazydp {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLeast = std::uint64_t{1} << 20;
constexpr std::uint64_t kMost = std::uint64_t{256} << 20;

std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

// Opens an unnamed file beside `path`. Where the file system has no unnamed files, makes a named
// one and removes its name at once.
int open_nameless(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int file =
      open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kOwnerFile);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return file;
  std::string name = path + ".XXXXXX";
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace

GrowingFile::GrowingFile(const std::string& path, std::uint64_t most, Name name)
    : path_(path), most_(std::max(kPage, whole_pages(most))) {
  file_ = name == Name::kept
              ? open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kOwnerFile)
              : open_nameless(path);
  if (file_ < 0) fail("open", errno);
  struct stat status = {};
  int why = fstat(file_, &status) == 0 ? 0 : errno;
  if (why == 0 && !S_ISREG(status.st_mode)) why = EINVAL;
  void* p = MAP_FAILED;
  if (why == 0) {
    p = mmap(nullptr, most_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
    if (p == MAP_FAILED) why = errno;
  }
  if (why != 0) {
    close(file_);
    fail("open", why);
  }
  data_ = static_cast<std::byte*>(p);
  region_ = MappedRegion(data_, most_, path);
  size_ = std::min(most_, static_cast<std::uint64_t>(status.st_size) / kPage * kPage);
  madvise(data_, most_, MADV_RANDOM);    // advice, like the next line
  madvise(data_, most_, MADV_DONTDUMP);  // rows whose noise is still owed stay out of core dumps
}

GrowingFile::GrowingFile(GrowingFile&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      most_(other.most_),
      size_(std::exchange(other.size_, 0)),
      region_(std::move(other.region_)) {}

GrowingFile::~GrowingFile() {
  if (data_ != nullptr) munmap(data_, most_);
  if (file_ >= 0) close(file_);
}

void GrowingFile::grow(std::uint64_t size) {
  if (size <= size_) return;
  check(size <= most_, "a file grows no larger than was said");
  const std::uint64_t wanted =
      std::min(most_, whole_pages(std::max(size, size_ + std::clamp(size_ / 4, kLeast, kMost))));
  const int why =
      posix_fallocate(file_, static_cast<off_t>(size_), static_cast<off_t>(wanted - size_));
  if (why != 0) fail("write", why);
  size_ = wanted;
}

void GrowingFile::clear() {
  if (ftruncate(file_, 0) != 0) fail("empty", errno);
  size_ = 0;
}

void GrowingFile::flush() {
  if (fdatasync(file_) != 0) fail("flush", errno);
}

void GrowingFile::will_need(std::uint64_t offset, std::uint64_t bytes) const {
  const std::uint64_t begin = offset / kPage * kPage;
  const std::uint64_t end = std::min(size_, offset + bytes);
  if (begin < end) madvise(data_ + begin, end - begin, MADV_WILLNEED);
}

void GrowingFile::fail(const char* what, int why) const {
  throw system_failure(std::string("cannot ") + what + " '" + path_ + "'", why);
}

}  // namespace lazydp
