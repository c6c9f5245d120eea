#pragma once
// A config file: TOML whose keys are the names of flags.

#include <span>
#include <string>
#include <vector>

#include "lazydp/cli/flags.h"

namespace lazydp::cli {

// A key of such a file, and what it says: one value, or each element of a list.
struct Setting {
  std::string flag;  // with its two dashes
  std::vector<std::string> values;
};

// The file's keys in alphabetical order, errors as below; a list's elements stay apart.
std::vector<Setting> read_settings(const std::string& path, std::span<const Flag> flags);

// Fills what the command line left open in `given`. A key that is none of `flags`, or a value that
// no flag could have, is a UserError that names the key and the file; a file that cannot be read
// is an IoError.
void read_config_file(const std::string& path, std::span<const Flag> flags, FlagTexts& given);

}  // namespace lazydp::cli
