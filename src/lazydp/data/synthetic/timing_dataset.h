#pragma once
// Examples without meaning, for timing: only which rows they look up matters.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/data/dataset.h"
#include "lazydp/data/synthetic/access_law.h"

namespace lazydp {

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
