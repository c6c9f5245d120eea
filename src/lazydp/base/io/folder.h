#pragma once
// Folders: made, listed, and locked so that one process uses them at a time; so are files.

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace lazydp {

// The modes of folders: what may go out, and what only the owner of a run may enter.
inline constexpr mode_t kReadableFolder = 0755;
inline constexpr mode_t kOwnerFolder = 0700;

// Returns whether there is a file or a folder of this name that can be seen.
bool exists(const std::string& path);

// Makes the folder unless it exists; one that exists keeps its mode. Throws IoError.
void make_folder(const std::string& path, mode_t mode);

// Makes the folder unless it exists, and lets only the owner enter it. Throws IoError.
void make_private_folder(const std::string& path);

// Returns the paths of everything in a folder, in no order. Throws IoError if it cannot be read; or
// sets `error` and returns what could be read.
std::vector<std::filesystem::path> entries_of(const std::string& folder);
std::vector<std::filesystem::path> entries_of(const std::string& folder, std::error_code& error);

// Returns whether the folder exists and is empty, but for files of a process that ended before it
// made the folder its own: the lock, and those whose names begin with `unfinished`.
bool holds_nothing(const std::string& folder, std::string_view unfinished);

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

// A lock beside a file that several processes read, change and replace. Held from its construction
// to its end: waits until no other process holds it. The lock is a file of its own, "<path>.lock",
// because replacing a file replaces what was locked of it.
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
