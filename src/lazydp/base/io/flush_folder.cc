#include "lazydp/base/io/flush_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lazydp/base/error.h"

namespace lazydp {

void flush_folder(const std::string& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool flushed = folder >= 0 && (fsync(folder) == 0 || errno == EINVAL);
  const int why = errno;
  if (folder >= 0) close(folder);
  if (!flushed) throw IoError("cannot flush '" + path + "': " + std::strerror(why));
}

}  // namespace lazydp
