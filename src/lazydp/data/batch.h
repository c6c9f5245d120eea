#pragma once
// One mini-batch: dense features, labels, and the bags of rows that each example looks up in each
// table.

#include <cstddef>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/embedding/pooling.h"

namespace lazydp {

// The examples [begin, end) of a batch, which one unit sent.
struct UnitExamples {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end - begin; }
};

// Poisson sampling makes the size random: a batch may be empty, and an empty batch is still a step.
struct Batch {
  std::size_t size = 0;
  Matrix dense;               // size x dense features
  std::vector<float> labels;  // size, each 0 or 1
  std::vector<Bags> bags;     // one for each table

  // The first example of each unit, ascending, and then `size`: the examples of a unit are
  // neighbours. Empty: every example is a unit of its own. The gradient of a unit is the mean over
  // its examples, and is clipped as a whole.
  std::vector<std::size_t> unit_starts;

  bool has_units() const { return !unit_starts.empty(); }
  std::size_t units() const { return has_units() ? unit_starts.size() - 1 : size; }
  UnitExamples unit(std::size_t u) const {
    return has_units() ? UnitExamples{unit_starts[u], unit_starts[u + 1]} : UnitExamples{u, u + 1};
  }
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
  batch.unit_starts.clear();
}

}  // namespace lazydp
