#pragma once
// A file that appears whole or not at all.

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <string>

#include "lazydp/base/error.h"

namespace lazydp {

// Until commit() nothing stands under `path` that was not there before, and however the program
// ends nothing half-written is left: the bytes go to a file without a name. Only where a file
// system has no such files does a temporary name stand beside `path`, which the destructor removes
// and SIGKILL does not. Every failure is an IoError with the path and the system's reason.
class AtomicFile {
 public:
  enum class Until : std::uint8_t { unnamed, named };  // what holds the bytes until commit()

  // Fails at the door for a directory, a device, or a folder that can't be written. A link is
  // followed: what it leads to is replaced. `mode` is that of the finished file; before, only the
  // owner can read it.
  explicit AtomicFile(const std::string& path, mode_t mode = 0644, Until until = Until::unnamed);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Reserves room, so that a disk that is too small fails now rather than after hours. The file
  // does not grow by it. Nothing happens where the file system can't reserve.
  void preallocate(std::uint64_t bytes);

  // Appends.
  void write(std::span<const std::byte> bytes);

  // Writes over what was appended, for headers that are known last; does not move the end.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);

  std::uint64_t size() const { return size_; }

  // Flushes to the device, takes the name, and flushes the folder. No more writing afterwards.
  void commit();

  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail() const;
  void open_unnamed();
  void open_named();
  void take_a_name();

  std::string path_;
  std::string temporary_;  // empty: has no name
  mode_t mode_;
  int file_ = -1;
  std::uint64_t size_ = 0;
};

// Names in a folder, made to last.

// Files that were named, renamed or removed in the folder stay so after a power cut. Throws IoError
// if it can't be done where it could be: not every file system has to be asked.
void flush_folder(const std::string& path);

// A whole file as text.

// Throws IoError("cannot read <what><path>: <reason>"), for a folder too.
inline std::string read_text(const std::string& path, const std::string& what = "") {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  for (char c = 0; file.get(c);) text += c;
  const bool whole = file.eof();  // neither a file that did not open nor a folder gets there
  if (!whole) throw IoError("cannot read " + what + path + ": " + std::strerror(errno));
  return text;
}

}  // namespace lazydp
