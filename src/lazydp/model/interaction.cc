#include "lazydp/model/interaction.h"

#include <algorithm>

#include "lazydp/base/error.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

struct Widths {
  std::size_t vectors;  // of an example
  std::size_t copied;   // floats that the output repeats: those of the first vector, or of all
};

Widths widths_of(ConstMatrixView features, std::size_t dim, ConstMatrixView output) {
  const std::size_t count = features.cols / dim;
  check(features.cols == count * dim && features.rows == output.rows, "features are whole vectors");
  const std::size_t copied = output.cols - count * (count - 1) / 2;
  check(copied == dim || copied == features.cols, "one output for each pair");
  return {count, copied};
}

}  // namespace

void interact(ConstMatrixView features, std::size_t dim, MatrixView output) {
  const auto [count, copied] = widths_of(features, dim, output);
  for (std::size_t i = 0; i < features.rows; ++i) {
    const float* const vectors = features.row(i).data();
    float* const out = output.row(i).data();
    std::copy_n(vectors, copied, out);
    pair_dots(vectors, count, dim, out + copied);
  }
}

void interact_backward(ConstMatrixView features, std::size_t dim, ConstMatrixView output_gradients,
                       MatrixView feature_gradients) {
  const auto [count, copied] = widths_of(features, dim, output_gradients);
  for (std::size_t i = 0; i < features.rows; ++i) {
    const float* const from = output_gradients.row(i).data();
    float* const to = feature_gradients.row(i).data();
    pair_dots_backward(features.row(i).data(), count, dim, from + copied, to);
    for (std::size_t k = 0; k < copied; ++k) to[k] += from[k];
  }
}

}  // namespace lazydp
