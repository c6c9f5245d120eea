#include "lazydp/model/mlp.h"

#include <algorithm>

#include "lazydp/base/error.h"
#include "lazydp/model/gemm.h"

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

namespace {

ConstMatrixView weights_of(const LayerShape& layer, std::span<const float> parameters) {
  return {parameters.data() + layer.first_parameter, layer.out, layer.in, layer.in};
}

std::span<const float> bias_of(const LayerShape& layer, std::span<const float> parameters) {
  return parameters.subspan(layer.first_bias(), layer.out);
}

}  // namespace

Mlp::Mlp(std::span<const LayerShape> layers, Last last) {
  layers_.resize(layers.size());
  for (std::size_t k = 0; k < layers.size(); ++k) {
    layers_[k].shape = layers[k];
    layers_[k].relu = k + 1 < layers.size() || last == Last::relu;
  }
}

void Mlp::attach(const Ends& ends) {
  check(ends.input.cols == layers_.front().shape.in, "the input fits the first layer");
  check(ends.output.cols == layers_.back().shape.out, "the output fits the last layer");
  MatrixView input = ends.input;
  MatrixView input_gradient = ends.input_gradient;
  for (Layer& layer : layers_) {
    layer.input = input;
    layer.input_gradient = input_gradient;
    if (&layer == &layers_.back()) {
      layer.output = ends.output;
      layer.output_gradient = ends.output_gradient;
    } else {
      layer.own_output.reshape(ends.input.rows, layer.shape.out);
      layer.own_gradient.reshape(ends.input.rows, layer.shape.out);
      layer.output = input = layer.own_output.view();
      layer.output_gradient = input_gradient = layer.own_gradient.view();
    }
  }
}

void Mlp::forward(std::span<const float> parameters, std::size_t begin, std::size_t end) {
  const std::size_t count = end - begin;
  for (const Layer& layer : layers_) {
    const MatrixView output = layer.output.rows_from(begin, count);
    const std::span<const float> bias = bias_of(layer.shape, parameters);
    times_transpose(layer.input.rows_from(begin, count), weights_of(layer.shape, parameters),
                    output);
    layer.relu ? add_bias_and_relu(bias, output) : add_bias(bias, output);
  }
}

void Mlp::backward(std::span<const float> parameters, std::size_t begin, std::size_t end) {
  const std::size_t count = end - begin;
  for (std::size_t k = layers_.size(); k-- > 0;) {
    const Layer& layer = layers_[k];
    const MatrixView gradient = layer.output_gradient.rows_from(begin, count);
    if (layer.relu) relu_backward(layer.output.rows_from(begin, count), gradient);
    if (layer.input_gradient.cols == 0) continue;
    times(gradient, weights_of(layer.shape, parameters),
          layer.input_gradient.rows_from(begin, count));
  }
}

void Mlp::erase(std::size_t example) {
  for (const Layer& layer : layers_) std::ranges::fill(layer.input.row(example), 0.0f);
}

void Mlp::append_to(std::vector<LayerTrace>& traces) const {
  for (const Layer& layer : layers_) {
    traces.push_back({layer.input, layer.output_gradient, layer.shape.first_parameter});
  }
}

}  // namespace lazydp
