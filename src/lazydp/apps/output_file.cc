#include "lazydp/apps/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "lazydp/base/error.h"

namespace lazydp::apps {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path) {
  throw IoError("cannot write " + path + ": " + std::strerror(errno));
}

// An open file under a temporary name beside `path`, gone with this object unless it is kept.
class Temporary {
 public:
  explicit Temporary(const std::string& path) : path_(path), name_(path + ".XXXXXX") {
    file_ = mkstemp(name_.data());
    if (file_ < 0) fail(path_);
  }
  ~Temporary() {
    if (file_ >= 0) close(file_);
    if (!kept_) unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  int file() const { return file_; }

  void keep() {
    constexpr mode_t kReadable = 0644;
    fchmod(file_, kReadable);
    const int closed = close(std::exchange(file_, -1));
    if (closed != 0 || rename(name_.c_str(), path_.c_str()) != 0) fail(path_);
    kept_ = true;
  }

 private:
  std::string path_;
  std::string name_;
  int file_ = -1;
  bool kept_ = false;
};

void write_all(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// A device or a pipe: it must be written into, not replaced.
bool is_special(const std::string& path) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

// The file that a link leads to is replaced, not the link.
std::string resolved(std::string path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  const fs::path target = fs::weakly_canonical(path, error);
  return error ? path : target.string();
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(resolved(std::move(path))) {
  if (is_standard_output() || is_special(path_)) return;
  std::error_code ignored;
  if (path_.empty()) errno = ENOENT;
  if (fs::is_directory(path_, ignored)) errno = EISDIR;
  if (path_.empty() || fs::is_directory(path_, ignored)) fail("'" + path_ + "'");
  const Temporary probe(path_);
}

void OutputFile::write(std::string_view text) const {
  if (is_standard_output()) return write_all(STDOUT_FILENO, text, "standard output");
  if (is_special(path_)) {
    const int file = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) fail(path_);
    write_all(file, text, path_);
    if (close(file) != 0) fail(path_);
    return;
  }
  Temporary temporary(path_);
  write_all(temporary.file(), text, path_);
  temporary.keep();
}

}  // namespace lazydp::apps
