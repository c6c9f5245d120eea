#pragma once
// One mini-batch: dense features, labels, and the bags of rows that each table is asked for.

#include <cstddef>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/embedding/bags.h"

namespace lazydp {

// Poisson sampling makes the size random: a batch may be empty, and an empty batch is still a step.
struct Batch {
  std::size_t size = 0;
  Matrix dense;               // size x dense features
  std::vector<float> labels;  // size, each 0 or 1
  std::vector<Bags> bags;     // one for each table
};

}  // namespace lazydp
