#pragma once
// One mini-batch: dense features, labels, and the bags of rows that each example looks up in each
// table.

#include <cstddef>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/embedding/pooling.h"

namespace lazydp {

// Poisson sampling makes the size random: a batch may be empty, and an empty batch is still a step.
struct Batch {
  std::size_t size = 0;
  Matrix dense;               // size x dense features
  std::vector<float> labels;  // size, each 0 or 1
  std::vector<Bags> bags;     // one for each table
};

// Shapes a batch of examples whose bags are all equally long, ready to be filled in. Leaves the
// ids, labels and features unspecified, and sets everything else.
inline void shape_batch(Batch& batch, std::size_t size, std::size_t dense_features,
                        std::size_t tables, std::size_t bag_length) {
  batch.size = size;
  batch.dense.reshape(size, dense_features);
  batch.labels.resize(size);
  batch.bags.resize(tables);
  for (Bags& bags : batch.bags) {
    bags.offsets.resize(size + 1);
    for (std::size_t i = 0; i <= size; ++i) bags.offsets[i] = i * bag_length;
    bags.ids.resize(size * bag_length);
    bags.weights.clear();
  }
}

}  // namespace lazydp
