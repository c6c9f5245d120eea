#pragma once
// A grid of runs: a TOML file whose keys are flags of lazydp train, and lists what to try.

#include <string>
#include <vector>

#include "lazydp/cli/flags.h"

namespace lazydp::cli {

struct GridPoint {
  FlagTexts given;                  // flags of the equivalent `lazydp train`
  std::vector<std::string> values;  // in the order of Grid::flags
};

struct Grid {
  std::vector<const Flag*> flags;  // flags that the file sets, in the order of the help
  std::vector<GridPoint> points;   // every combination; the last flag's value changes first
};

// Throws UserError for a key that does not affect what a run computes, or a value that no flag
// could have; IoError for a file that cannot be read.
Grid read_grid(const std::string& path);

}  // namespace lazydp::cli
