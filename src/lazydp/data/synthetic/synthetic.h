#pragma once
// The names of the synthetic data sets, as --synthetic takes them, and their data files.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/data/dataset.h"
#include "lazydp/data/schema.h"
#include "lazydp/data/synthetic/access_law.h"
#include "lazydp/data/synthetic/click_task.h"

namespace lazydp {

// A task that can be learned, or accesses that are only timed.
using Synthetic = std::variant<ClickSize, AccessLaw>;

// Parses `click`, `click:large`, `uniform`, `zipf:EXPONENT`, or `skew:36`, `skew:10`, `skew:0.6`:
// the share of the rows, in percent, that gets 90 % of the look-ups (in a table of 40 million rows,
// the paper's largest). Throws UserError for anything else.
Synthetic parse_synthetic(std::string_view name);

// Returns the schema of a data set whose features and rows are generated, not read from text: dense
// columns I1, I2, ..., tables C1, C2, ..., multi where bags hold more than one row.
Schema synthetic_schema(const Dataset& data, const std::string& source, bool multi);

// Writes all examples of these data sets, which must have the same columns, to one data file.
// Returns the number of bytes of the file. `pooling` is the number of rows in a bag.
std::uint64_t write_data_file(const std::string& path, const std::string& source,
                              const std::vector<const Dataset*>& parts, std::size_t pooling);

// Examples without meaning, for timing: only which rows they look up matters.
struct TimingShape {
  std::uint64_t examples = 0;
  std::size_t dense_features = 13;
  std::vector<RowId> table_rows;
  std::size_t pooling = 1;  // ids in a bag
};

// Returns a data set of standard normal features and fair-coin labels. It stores nothing: every
// example is a pure function of (seed, example), made when it is read.
std::unique_ptr<Dataset> make_timing_dataset(const TimingShape& shape, AccessLaw law,
                                             std::uint64_t public_seed = 1);

}  // namespace lazydp
