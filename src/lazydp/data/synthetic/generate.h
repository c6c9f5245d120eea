#pragma once
// Data sets that are made up, written as data files.

#include <cstdint>
#include <string>
#include <vector>

#include "lazydp/data/dataset.h"
#include "lazydp/data/schema.h"

namespace lazydp {

// The schema of a data set whose features and rows are made, not read from text: dense columns
// I1, I2, ..., tables C1, C2, ..., multi where bags hold more than one row.
Schema synthetic_schema(const Dataset& data, const std::string& source, bool multi);

// Writes all examples of these, one after the other; all have the same columns. Returns the number
// of bytes of the file. `pooling` is how many rows a bag has.
std::uint64_t write_data_file(const std::string& path, const std::string& source,
                              const std::vector<const Dataset*>& parts, std::size_t pooling);

}  // namespace lazydp
