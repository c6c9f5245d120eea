#pragma once
// Forms one example's gradient of one linear layer in full.

#include <cstddef>
#include <span>

#include "lazydp/kernels/vector.h"
#include "lazydp/model/model.h"

namespace lazydp {

// Writes out = (d xᵀ, d): W's gradient row by row, then b's. `out` has layer.parameters() floats.
inline void form_layer_gradient(const LayerTrace& layer, std::size_t example,
                                std::span<float> out) {
  const auto x = layer.inputs.row(example);
  const auto d = layer.gradients.row(example);
  for (std::size_t o = 0; o < d.size(); ++o) {
    for (std::size_t j = 0; j < x.size(); ++j) out[o * x.size() + j] = d[o] * x[j];
    out[d.size() * x.size() + o] = d[o];
  }
}

}  // namespace lazydp
