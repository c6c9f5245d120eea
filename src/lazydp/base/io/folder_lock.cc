#include "lazydp/base/io/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "lazydp/base/error.h"

namespace lazydp {

FolderLock::FolderLock(const std::string& folder) {
  constexpr mode_t kOwnerOnly = 0600;
  const std::string name = folder + "/lock";
  file_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kOwnerOnly);
  if (file_ < 0) throw IoError("cannot write in " + folder + ": " + std::strerror(errno));
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  const int why = errno;
  close(std::exchange(file_, -1));
  if (why == EWOULDBLOCK) throw UserError(folder + " is in use by another lazydp");
  throw IoError("cannot lock " + folder + ": " + std::strerror(why));
}

FolderLock::FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

FolderLock::~FolderLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace lazydp
