#pragma once
// A file that is written whole or not at all.

#include <string>
#include <string_view>

namespace lazydp::cli {

// Made before the work whose result it will hold, so that a path that cannot be written fails at
// the door. Until write() nothing is left on the disk, however the program ends.
class OutputFile {
 public:
  // "-" means standard output. Throws IoError if the path cannot be written.
  explicit OutputFile(std::string path);

  bool is_standard_output() const { return path_ == "-"; }

  // Throws IoError, and leaves what was there before, unless all of it could be written.
  void write(std::string_view text) const;

 private:
  std::string path_;
};

}  // namespace lazydp::cli
