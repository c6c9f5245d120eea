#pragma once
// Rows of a settled state that stay in the file they were written to, until somebody needs them.

#include <string>

#include "lazydp/checkpoint/checkpoint_header.h"
#include "lazydp/embedding/storage/table_files.h"

namespace lazydp {

// Throws IoError if the file at `path` is not the one that was written, UserError if it holds no
// such tables.
TableFiles::FirstValues rows_of_file(const std::string& path, const SettledRows& rows);

}  // namespace lazydp
