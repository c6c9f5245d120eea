#include "lazydp/base/io/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"

namespace lazydp {

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
