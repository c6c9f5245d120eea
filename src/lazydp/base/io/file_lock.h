#pragma once
// A lock beside a file that is read, changed and replaced by several processes.

#include <string>

namespace lazydp {

// Held from its construction to its end: waits until no other process holds it. The lock is a file
// of its own, "<path>.lock", because replacing a file replaces what was locked of it.
class FileLock {
 public:
  // Throws IoError if the folder cannot be written.
  explicit FileLock(const std::string& path);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  int file_ = -1;
};

}  // namespace lazydp
