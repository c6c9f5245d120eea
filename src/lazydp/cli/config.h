#pragma once
// A config file: TOML whose keys are the names of flags.

#include <span>
#include <string>
#include <vector>

#include "lazydp/cli/flags.h"

namespace lazydp::cli {

// A key of such a file, and its value: one text, or each element of a list.
struct Setting {
  std::string flag;  // with its two dashes
  std::vector<std::string> values;
};

// Returns the file's keys in alphabetical order; a list's elements stay apart. Throws like
// read_config_file().
std::vector<Setting> read_settings(const std::string& path, std::span<const Flag> flags);

// Fills the flags of `given` that the command line left open. Throws UserError, which names the key
// and the file, for a key that is not among `flags` or a value that no flag could have; IoError for
// a file that cannot be read.
void read_config_file(const std::string& path, std::span<const Flag> flags, FlagTexts& given);

}  // namespace lazydp::cli
