#include "lazydp/data/text/byte_source.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "lazydp/base/error.h"

namespace lazydp {

namespace {

constexpr std::size_t kPackedBytes = std::size_t{256} << 10;

// The compressed side of a stream.
class Packed {
 public:
  Packed(std::unique_ptr<ByteSource> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)), buffer_(kPackedBytes) {}

  // Returns bytes that are not used yet; none at the end of the input.
  std::span<char> more() {
    if (rest_.empty()) rest_ = {buffer_.data(), source_->read(buffer_)};
    return rest_;
  }
  void use(std::size_t bytes) { rest_ = rest_.subspan(bytes); }

  [[noreturn]] void fail(const std::string& why) const {
    throw IoError("cannot unpack '" + name_ + "': " + why);
  }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::vector<char> buffer_;
  std::span<char> rest_;
};

class Gzip final : public ByteSource {
 public:
  Gzip(std::unique_ptr<ByteSource> packed, std::string name)
      : packed_(std::move(packed), std::move(name)) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Gzip() override { inflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  std::size_t read(std::span<char> out) override {
    std::size_t filled = 0;
    while (filled < out.size()) {
      const std::span<char> in = packed_.more();
      if (in.empty() && between_) break;
      if (in.empty()) packed_.fail("the gzip stream is cut short");
      between_ = false;
      stream_.next_in = reinterpret_cast<Bytef*>(in.data());
      stream_.avail_in = static_cast<uInt>(in.size());
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
      stream_.avail_out = static_cast<uInt>(std::min(out.size() - filled, kMostAtOnce));
      const uInt room = stream_.avail_out;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      filled += room - stream_.avail_out;
      packed_.use(in.size() - stream_.avail_in);
      if (result == Z_STREAM_END) {
        between_ = true;
        inflateReset(&stream_);
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        packed_.fail(stream_.msg != nullptr ? stream_.msg : "not a gzip stream");
      }
    }
    return filled;
  }

 private:
  static constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

  Packed packed_;
  z_stream stream_{};
  bool between_ = false;  // between two members, where the input may end
};

class Zstd final : public ByteSource {
 public:
  Zstd(std::unique_ptr<ByteSource> packed, std::string name)
      : packed_(std::move(packed), std::move(name)), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ~Zstd() override { ZSTD_freeDStream(stream_); }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;

  std::size_t read(std::span<char> out) override {
    ZSTD_outBuffer to = {out.data(), out.size(), 0};
    while (to.pos < to.size) {
      const std::span<char> in = packed_.more();
      ZSTD_inBuffer from = {in.data(), in.size(), 0};
      const std::size_t before = to.pos;
      const std::size_t hint = ZSTD_decompressStream(stream_, &to, &from);
      packed_.use(from.pos);
      if (ZSTD_isError(hint) != 0) packed_.fail(ZSTD_getErrorName(hint));
      // Without input the decoder only returns the bytes that it still holds.
      if (in.empty() && to.pos == before) {
        if (!between_) packed_.fail("the zstd stream is cut short");
        break;
      }
      between_ = hint == 0;
    }
    return to.pos;
  }

 private:
  Packed packed_;
  ZSTD_DStream* stream_;
  bool between_ = false;  // between two frames, where the input may end
};

}  // namespace

std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed, std::string name) {
  return std::make_unique<Gzip>(std::move(packed), std::move(name));
}

std::unique_ptr<ByteSource> unpack_zstd(std::unique_ptr<ByteSource> packed, std::string name) {
  return std::make_unique<Zstd>(std::move(packed), std::move(name));
}

namespace {

class FileSource final : public ByteSource {
 public:
  FileSource(const std::string& path, std::uint64_t* bytes) : bytes_(bytes) {
    const bool standard_input = path == "-";
    name_ = standard_input ? "standard input" : "'" + path + "'";
    file_ = standard_input ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) fail();
    posix_fadvise(file_, 0, 0, POSIX_FADV_SEQUENTIAL);  // a hint, which pipes ignore
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
  [[noreturn]] void fail() const { throw system_failure("cannot read " + name_); }

  std::string name_;
  int file_ = -1;
  std::uint64_t* bytes_;
};

// Returns the bytes that were already read to detect the format, then the rest.
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
