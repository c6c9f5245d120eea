#pragma once
// An exclusive lock on a folder: one process uses it at a time.

#include <string>

namespace lazydp {

class FolderLock {
 public:
  // Throws UserError if another process holds the lock, IoError if the folder cannot be locked.
  explicit FolderLock(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  int file_ = -1;
};

}  // namespace lazydp
