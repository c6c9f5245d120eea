#pragma once
// Many runs from one file: TOML whose keys are flags, and whose lists are the values to try.

#include <string>
#include <vector>

#include "lazydp/cli/flags.h"

namespace lazydp::cli {

struct GridPoint {
  FlagTexts given;                  // what `lazydp train` would have been told
  std::vector<std::string> values;  // in the order of Grid::flags
};

struct Grid {
  std::vector<const Flag*> flags;  // those that the file sets, in the order of the help
  std::vector<GridPoint> points;   // every combination; the last flag's value changes first
};

// Throws UserError for a key that says nothing about what a run computes, or a value no flag could
// have; IoError for a file that cannot be read.
Grid read_grid(const std::string& path);

}  // namespace lazydp::cli
