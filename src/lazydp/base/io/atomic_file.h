#pragma once
// Files that appear whole or not at all, and whole files read as text.

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <span>
#include <string>

#include "lazydp/base/error.h"

namespace lazydp {

// The modes of files: what may go out, and what only the owner of a run may read.
inline constexpr mode_t kReadableFile = 0644;
inline constexpr mode_t kOwnerFile = 0600;

// Writes a file that appears under `path` only at commit().
//
// Before commit() `path` holds what it held before, and the program leaves nothing half-written
// however it ends: the bytes go to a file without a name. Only on a file system without unnamed
// files does a temporary name stand beside `path`, which the destructor removes and SIGKILL does
// not. Every failure is an IoError with the path and the system's reason.
class AtomicFile {
 public:
  enum class Until : std::uint8_t { unnamed, named };  // how the bytes are held until commit()

  // Throws for a directory, a device, or a folder that cannot be written. Follows a link and
  // replaces its target. `mode` is the mode of the finished file; before commit() only the owner
  // can read it.
  explicit AtomicFile(const std::string& path, mode_t mode = kReadableFile,
                      Until until = Until::unnamed);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Reserves `bytes` on the disk, so that a disk that is too small fails now rather than after
  // hours. The file does not grow. Does nothing where the file system cannot reserve.
  void preallocate(std::uint64_t bytes);

  // Appends `bytes`.
  void write(std::span<const std::byte> bytes);

  // Overwrites bytes that were appended, for headers that are known last; does not move the end.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);

  std::uint64_t size() const { return size_; }

  // Flushes to the device, gives the file its name, and flushes the folder. No write may follow.
  void commit();

  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail() const;
  void open_unnamed();
  void open_named();
  void take_a_name();

  std::string path_;
  std::string temporary_;  // empty: the file has no name
  mode_t mode_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

// Makes the files that were named, renamed or removed in the folder stay so after a power cut.
// Throws IoError if the folder cannot be flushed; a file system that does not support flushing
// folders is not an error.
void flush_folder(const std::string& path);

// Writes a whole file, which appears at once.
void write_text(const std::string& path, const std::string& text, mode_t mode);

// Returns the whole file. Throws IoError("cannot read <what><path>: <reason>"), for a folder too.
inline std::string read_text(const std::string& path, const std::string& what = "") {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  for (char c = 0; file.get(c);) text += c;
  const bool whole = file.eof();  // false for a folder and for a file that did not open
  if (!whole) throw system_failure("cannot read " + what + path);
  return text;
}

}  // namespace lazydp
