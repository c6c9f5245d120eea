#include "lazydp/model/interaction.h"

#include <algorithm>

#include "lazydp/base/error.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

// Returns the number of vectors of an example.
std::size_t vectors_of(ConstMatrixView features, std::size_t dim, ConstMatrixView output) {
  const std::size_t count = features.cols / dim;
  check(features.cols == count * dim && features.rows == output.rows, "features are whole vectors");
  check(output.cols == dim + count * (count - 1) / 2, "one output for each pair");
  return count;
}

}  // namespace

void interact(ConstMatrixView features, std::size_t dim, MatrixView output) {
  const std::size_t count = vectors_of(features, dim, output);
  for (std::size_t i = 0; i < features.rows; ++i) {
    const float* const vectors = features.row(i).data();
    float* const out = output.row(i).data();
    std::copy_n(vectors, dim, out);
    pair_dots(vectors, count, dim, out + dim);
  }
}

void interact_backward(ConstMatrixView features, std::size_t dim, ConstMatrixView output_gradients,
                       MatrixView feature_gradients) {
  const std::size_t count = vectors_of(features, dim, output_gradients);
  for (std::size_t i = 0; i < features.rows; ++i) {
    const float* const from = output_gradients.row(i).data();
    float* const to = feature_gradients.row(i).data();
    pair_dots_backward(features.row(i).data(), count, dim, from + dim, to);
    for (std::size_t k = 0; k < dim; ++k) to[k] += from[k];
  }
}

}  // namespace lazydp
