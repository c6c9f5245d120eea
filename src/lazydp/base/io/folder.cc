#include "lazydp/base/io/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"

namespace lazydp {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "lock";

}  // namespace

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

void make_folder(const std::string& path, mode_t mode) {
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
    throw system_failure("cannot make " + path);
  }
}

void make_private_folder(const std::string& path) {
  make_folder(path, kOwnerFolder);
  if (chmod(path.c_str(), kOwnerFolder) != 0) {
    throw system_failure("cannot make " + path + " private");
  }
}

std::vector<fs::path> entries_of(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> entries = entries_of(folder, error);
  if (error) throw IoError("cannot read " + folder + ": " + error.message());
  return entries;
}

std::vector<fs::path> entries_of(const std::string& folder, std::error_code& error) {
  std::vector<fs::path> entries;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    entries.push_back(i->path());
  }
  return entries;
}

bool holds_nothing(const std::string& folder, std::string_view unfinished) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return false;
  const std::vector<fs::path> entries = entries_of(folder, error);
  return !error && std::ranges::all_of(entries, [&](const fs::path& entry) {
    const std::string name = entry.filename().string();
    return name == kLock || name.starts_with(unfinished);
  });
}

FolderLock::FolderLock(const std::string& folder) {
  const std::string name = folder + "/" + kLock;
  file_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerFile);
  if (file_ < 0) throw system_failure("cannot write in " + folder);
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  const int why = errno;
  close(std::exchange(file_, -1));
  if (why == EWOULDBLOCK) throw UserError(folder + " is in use by another lazydp");
  throw system_failure("cannot lock " + folder, why);
}

FolderLock::FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

FolderLock::~FolderLock() {
  if (file_ >= 0) close(file_);
}

FileLock::FileLock(const std::string& path) {
  const std::string name = path + ".lock";
  file_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerFile);
  if (file_ < 0) throw system_failure("cannot write " + name);
  while (flock(file_, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    const int why = errno;
    close(file_);
    throw system_failure("cannot lock " + name, why);
  }
}

FileLock::~FileLock() {
  close(file_);
}

}  // namespace lazydp
