#pragma once
// A model with random weights and a random batch for it.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "lazydp/model/dlrm.h"
#include "tests/model/fill.h"

namespace lazydp::testing {

inline ModelShape tiny_shape(std::size_t tables, std::size_t dim,
                             std::vector<std::size_t> hidden_bottom,
                             std::vector<std::size_t> hidden_top) {
  ModelShape shape;
  shape.name = "tiny";
  shape.table_rows.assign(tables, 10);
  shape.dim = dim;
  shape.bottom = std::move(hidden_bottom);
  shape.bottom.insert(shape.bottom.begin(), 4);
  shape.bottom.push_back(dim);
  shape.top = std::move(hidden_top);
  shape.top.push_back(1);
  return shape;
}

struct DlrmFixture {
  DlrmFixture(const ModelShape& shape, std::size_t batch_size, std::uint64_t seed = 1)
      : model(shape) {
    Numbers numbers(seed);
    model.initialise([&] { return numbers.uniform(); });
    batch.size = batch_size;
    batch.dense = Matrix(batch_size, shape.dense_features());
    for (std::size_t i = 0; i < batch_size; ++i) {
      numbers.fill(batch.dense.row(i));
      batch.labels.push_back(numbers.uniform() < 0.4 ? 1.0f : 0.0f);
    }
    for (std::size_t t = 0; t < shape.tables(); ++t) {
      Matrix& vectors = pooled.emplace_back(batch_size, shape.dim);
      for (std::size_t i = 0; i < batch_size; ++i) numbers.fill(vectors.row(i));
    }
  }

  void forward() {
    const std::span<const MatrixView> views = model.begin_batch(batch.size);
    for (std::size_t t = 0; t < views.size(); ++t) {
      for (std::size_t i = 0; i < batch.size; ++i) {
        std::ranges::copy(pooled[t].row(i), views[t].row(i).begin());
      }
    }
    model.forward(batch);
  }

  Dlrm model;
  Batch batch;
  std::vector<Matrix> pooled;  // per table
};

// Everything a pass leaves behind, in one array: inputs, gradients and pooled gradients of example
// i, then of example i + 1, ...
inline std::vector<float> rows_of(const Tape& tape, std::size_t begin, std::size_t end) {
  std::vector<float> all;
  const auto append = [&](std::span<const float> row) {
    all.insert(all.end(), row.begin(), row.end());
  };
  for (std::size_t i = begin; i < end; ++i) {
    for (const LayerTrace& layer : tape.layers) {
      append(layer.inputs.row(i));
      append(layer.gradients.row(i));
    }
    for (const MatrixView& gradient : tape.pooled_gradients) append(gradient.row(i));
  }
  return all;
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

inline bool all_zero(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return value == 0.0f; });
}

}  // namespace lazydp::testing
