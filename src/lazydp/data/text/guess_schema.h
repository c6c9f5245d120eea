#pragma once
// Guesses a first schema for a text that has none.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lazydp/data/schema.h"
#include "lazydp/data/text/joined_table.h"

namespace lazydp {

struct Guess {
  Schema schema;
  std::string comment;  // for the top of the file: which lines were read, and what that means
  // What ids were told from quantities by, and which columns are ignored: a sentence for each.
  std::vector<std::string> notes;
  std::uint64_t lines = 0;  // number of lines that were read
};

// Guesses a schema from the first lines of an input. Roles and numbers of rows are then taken from
// the data, so the user should review and change it, not use it blindly. Throws UserError if no
// separator splits the text into columns.
// Columns of a joined table, if there is one, follow those of the input.
Guess guess_schema(const std::string& path, const JoinSource* join = nullptr);

}  // namespace lazydp
