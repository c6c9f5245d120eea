#pragma once
// What may follow a flag, as far as it can be listed: for completion in a shell.

#include <string>
#include <vector>

#include "lazydp/cli/flags.h"

namespace lazydp::cli {

struct FlagValues {
  std::vector<std::string> words;  // some of what is allowed, or all
  bool files = false;              // a file or a folder is allowed
};

// From the flag's hint: "sum|mean" are words, FILE and DIR are files. Algorithms and models are
// those there are.
FlagValues values_of(const Flag& flag);

// Whether a verb's operands ("IN... OUT", "DIR") are files; "bash|zsh|fish" is a list of words.
FlagValues operand_values(std::string_view operands);

}  // namespace lazydp::cli
