#include "lazydp/data/text/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/data/text/unpack.h"

namespace lazydp {
namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(const std::string& path, std::uint64_t* bytes) : bytes_(bytes) {
    const bool standard_input = path == "-";
    name_ = standard_input ? "standard input" : "'" + path + "'";
    file_ = standard_input ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) fail();
    posix_fadvise(file_, 0, 0, POSIX_FADV_SEQUENTIAL);  // a hint: pipes have none of it
  }
  ~FileSource() override { close(file_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::size_t read(std::span<char> out) override {
    std::size_t filled = 0;
    while (filled < out.size()) {
      const ssize_t got = ::read(file_, out.data() + filled, out.size() - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail();
      if (got == 0) break;
      filled += static_cast<std::size_t>(got);
    }
    if (bytes_ != nullptr) *bytes_ += filled;
    return filled;
  }

 private:
  [[noreturn]] void fail() const {
    throw IoError("cannot read " + name_ + ": " + std::strerror(errno));
  }

  std::string name_;
  int file_ = -1;
  std::uint64_t* bytes_;
};

// What was read to look at, then the rest.
class Resumed final : public ByteSource {
 public:
  Resumed(std::string first, std::unique_ptr<ByteSource> rest)
      : first_(std::move(first)), rest_(std::move(rest)) {}

  std::size_t read(std::span<char> out) override {
    const std::size_t from_first = std::min(out.size(), first_.size() - taken_);
    std::copy_n(first_.data() + taken_, from_first, out.data());
    taken_ += from_first;
    if (from_first == out.size()) return from_first;
    return from_first + rest_->read(out.subspan(from_first));
  }

 private:
  std::string first_;
  std::size_t taken_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

}  // namespace

std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> raw, const std::string& name) {
  using std::string_view_literals::operator""sv;
  std::string first(4, '\0');
  first.resize(raw->read(first));
  auto whole = std::make_unique<Resumed>(first, std::move(raw));
  if (first.starts_with("\x1f\x8b"sv)) return unpack_gzip(std::move(whole), name);
  if (first == "\x28\xb5\x2f\xfd"sv) return unpack_zstd(std::move(whole), name);
  return whole;
}

std::unique_ptr<ByteSource> open_source(const std::string& path, std::uint64_t* packed_bytes) {
  return unpacked(std::make_unique<FileSource>(path, packed_bytes), path);
}

}  // namespace lazydp
