#include "lazydp/base/io/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lazydp/base/error.h"

namespace lazydp {

namespace {

namespace fs = std::filesystem;

std::string followed(const std::string& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? path : target.string();
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Returns the path under which the kernel shows an open file, so that a file without a name can be
// given one.
std::string open_file_path(int file) {
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path, mode_t mode, Until until)
    : path_(followed(path)), mode_(mode) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path_, ignored);
  if (path_.empty()) {
    errno = ENOENT;
    fail();
  }
  if (fs::is_directory(status)) {
    errno = EISDIR;
    fail();
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw IoError("cannot write '" + path_ +
                  "': it is a device or a pipe, which can't be replaced");
  }
  if (until == Until::unnamed) open_unnamed();
  if (file_ < 0) open_named();
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::fail() const {
  throw system_failure("cannot write '" + path_ + "'");
}

void AtomicFile::open_unnamed() {
  file_ = open(folder_of(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kOwnerFile);
  if (file_ < 0 || access(open_file_path(file_).c_str(), F_OK) == 0) return;
  close(std::exchange(file_, -1));  // without /proc it could never be named
}

void AtomicFile::open_named() {
  std::string name = path_ + ".XXXXXX";
  file_ = mkostemp(name.data(), O_CLOEXEC);
  if (file_ < 0) fail();
  temporary_ = name;
}

void AtomicFile::preallocate(std::uint64_t bytes) {
  if (bytes == 0) return;
  if (fallocate(file_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) return;
  if (errno != EOPNOTSUPP && errno != ENOSYS) fail();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  write_at(size_, bytes);
  size_ += bytes.size();
}

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  check(file_ >= 0, "a committed file is not written");
  check(offset <= size_, "no holes in a file");
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail();
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void AtomicFile::commit() {
  check(file_ >= 0, "a file is committed once");
  if (fchmod(file_, mode_) != 0 || fsync(file_) != 0) fail();
  if (temporary_.empty()) take_a_name();
  if (close(std::exchange(file_, -1)) != 0) fail();
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail();
  temporary_.clear();
  flush_folder(folder_of(path_));
}

// linkat() gives a name only where none exists, so the file passes through a temporary name.
void AtomicFile::take_a_name() {
  constexpr int kTries = 100;
  const std::string from = open_file_path(file_);
  for (int i = 0; i < kTries; ++i) {
    const std::string name = path_ + "." + std::to_string(getpid()) + "-" + std::to_string(i);
    if (linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return;
    }
    if (errno != EEXIST) fail();
  }
  fail();
}

void write_text(const std::string& path, const std::string& text, mode_t mode) {
  AtomicFile file(path, mode);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

void flush_folder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool flushed = folder >= 0 && (fsync(folder) == 0 || errno == EINVAL);
  const int why = errno;
  if (folder >= 0) close(folder);
  if (!flushed) throw system_failure("cannot flush '" + path + "'", why);
}

}  // namespace lazydp
