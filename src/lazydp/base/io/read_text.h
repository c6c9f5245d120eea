#pragma once
// A whole file as text.

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "lazydp/base/error.h"

namespace lazydp {

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
