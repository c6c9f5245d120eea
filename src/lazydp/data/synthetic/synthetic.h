#pragma once
// The names of the synthetic data sets, as --synthetic takes them.

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lazydp/data/dataset.h"
#include "lazydp/data/schema.h"
#include "lazydp/data/synthetic/click_task.h"
#include "lazydp/data/synthetic/timing_dataset.h"

namespace lazydp {

// A task that can be learned, or accesses to be timed.
using Synthetic = std::variant<ClickSize, AccessLaw>;

// `click`, `click:large`, `uniform`, `zipf:EXPONENT`, or `skew:36`, `skew:10`, `skew:0.6`: the
// share of the rows, in percent, that gets 90 % of the look-ups (in a table of 40 million rows, the
// paper's largest). Anything else is a UserError.
Synthetic parse_synthetic(std::string_view name);

// Data sets that are made up, written as data files.

// The schema of a data set whose features and rows are made, not read from text: dense columns
// I1, I2, ..., tables C1, C2, ..., multi where bags hold more than one row.
Schema synthetic_schema(const Dataset& data, const std::string& source, bool multi);

// Writes all examples of these, one after the other; all have the same columns. Returns the number
// of bytes of the file. `pooling` is how many rows a bag has.
std::uint64_t write_data_file(const std::string& path, const std::string& source,
                              const std::vector<const Dataset*>& parts, std::size_t pooling);

}  // namespace lazydp
