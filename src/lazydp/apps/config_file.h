#pragma once
// A config file: TOML whose keys are the names of flags.

#include <span>
#include <string>

#include "lazydp/apps/flags.h"

namespace lazydp::apps {

// Fills what the command line left open in `given`. A key that is none of `flags`, or a value that
// no flag could have, is a UserError that names the key and the file; a file that cannot be read
// is an IoError.
void read_config_file(const std::string& path, std::span<const Flag> flags, Given& given);

}  // namespace lazydp::apps
