#pragma once
// A folder that one process uses at a time.

#include <string>

namespace lazydp {

class FolderLock {
 public:
  // Throws UserError if another process has it, IoError if it cannot be locked.
  explicit FolderLock(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  int file_ = -1;
};

}  // namespace lazydp
