#pragma once
// Names in a folder, made to last.

#include <string>

namespace lazydp {

// Files that were named, renamed or removed in the folder stay so after a power cut. Throws IoError
// if it can't be done where it could be: not every file system has to be asked.
void flush_folder(const std::string& path);

}  // namespace lazydp
