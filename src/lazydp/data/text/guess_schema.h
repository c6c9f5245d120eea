#pragma once
// A first schema for a text that nobody has described yet.

#include <cstdint>
#include <string>

#include "lazydp/data/schema.h"

namespace lazydp {

struct Guess {
  Schema schema;
  std::string comment;      // for the top of the file: what was looked at, and what that means
  std::uint64_t lines = 0;  // looked at
};

// From the first lines of an input. Roles and numbers of rows are then taken from the data, so it
// is for somebody to look at and to change, not to use blindly. UserError if no separator makes
// columns of it.
Guess guess_schema(const std::string& path);

}  // namespace lazydp
