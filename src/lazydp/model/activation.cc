#include "lazydp/model/activation.h"

namespace lazydp {

void add_bias(std::span<const float> bias, MatrixView y) {
  for (std::size_t i = 0; i < y.rows; ++i) {
    float* const __restrict row = y.row(i).data();
    const float* const __restrict b = bias.data();
    for (std::size_t j = 0; j < y.cols; ++j) row[j] += b[j];
  }
}

void add_bias_and_relu(std::span<const float> bias, MatrixView y) {
  for (std::size_t i = 0; i < y.rows; ++i) {
    float* const __restrict row = y.row(i).data();
    const float* const __restrict b = bias.data();
    for (std::size_t j = 0; j < y.cols; ++j) {
      const float value = row[j] + b[j];
      row[j] = 0.0f > value ? 0.0f : value;
    }
  }
}

void relu_backward(ConstMatrixView activations, MatrixView gradients) {
  for (std::size_t i = 0; i < gradients.rows; ++i) {
    float* const __restrict gradient = gradients.row(i).data();
    const float* const __restrict activation = activations.row(i).data();
    for (std::size_t j = 0; j < gradients.cols; ++j) {
      gradient[j] = activation[j] <= 0.0f ? 0.0f : gradient[j];
    }
  }
}

}  // namespace lazydp
