#pragma once
// The elementwise passes of a linear layer: bias, ReLU, and ReLU's derivative. On the calling
// thread. A NaN goes through ReLU both ways, so that a bad example can be seen at the end.

#include <span>

#include "lazydp/base/matrix.h"

namespace lazydp {

// Adds `bias` to every row.
void add_bias(std::span<const float> bias, MatrixView y);

// Adds `bias` to every row; then negative values become 0.
void add_bias_and_relu(std::span<const float> bias, MatrixView y);

// From d loss / d relu(y) to d loss / d y, in place: zero where relu(y) is.
void relu_backward(ConstMatrixView activations, MatrixView gradients);

}  // namespace lazydp
