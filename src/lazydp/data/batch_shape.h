#pragma once
// Gives a batch the shape of examples whose bags are all equally long, ready to be filled in.

#include <cstddef>

#include "lazydp/data/batch.h"

namespace lazydp {

// Afterwards the ids, labels and features are unspecified, and everything else is set.
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
