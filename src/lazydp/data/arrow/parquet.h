#pragma once
// Opens Parquet files, where the program was built with Arrow C++.

#include <string>

#include "lazydp/data/arrow/arrow_abi.h"
#include "lazydp/data/schema.h"

namespace lazydp {

// Opens a file as a stream of the columns that the schema does not ignore. Throws UserError where
// the program was built without Arrow, saying what to install, or if the file is no Parquet;
// IoError if it cannot be read.
void open_parquet(const std::string& path, const Schema& schema, ArrowArrayStream& out);

}  // namespace lazydp
