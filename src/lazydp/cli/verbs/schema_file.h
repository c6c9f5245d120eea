#pragma once
// Schemas from files: text that somebody wrote, or a data file that has one.

#include <string>

#include "lazydp/data/schema.h"

namespace lazydp::cli {

// UserError for what is no schema, IoError for what cannot be read.
Schema read_schema(const std::string& path);

}  // namespace lazydp::cli
