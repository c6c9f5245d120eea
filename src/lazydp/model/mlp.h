#pragma once
// A stack of linear layers with ReLU between them.

#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/model/model.h"
#include "lazydp/model/shape.h"

namespace lazydp {

// Adds `bias` to every row. This and the next two run on the calling thread. A NaN passes through
// ReLU in both directions, so that a bad example can be detected at the end.
void add_bias(std::span<const float> bias, MatrixView y);

// Adds `bias` to every row, then sets negative values to 0.
void add_bias_and_relu(std::span<const float> bias, MatrixView y);

// Turns d loss / d relu(y) into d loss / d y, in place: zero where relu(y) is.
void relu_backward(ConstMatrixView activations, MatrixView gradients);

// Knows the positions of its layers in the array of all dense parameters, which is passed to each
// pass. Its input and output are the caller's memory, so that stacks join without copies; the
// buffers between are its own.
//
// forward() and backward() run on the calling thread and touch the examples [begin, end) alone:
// different ranges may run at the same time.
class Mlp {
 public:
  enum class Last { relu, linear };  // activation after the last layer

  // The caller's buffers for a batch's input and output, and for their gradients. backward() reads
  // d loss / d output in `output_gradient` and leaves d loss / d y of the last layer there; it
  // writes `input_gradient`, or skips that when the view has no columns.
  struct Ends {
    MatrixView input;
    MatrixView output;
    MatrixView output_gradient;
    MatrixView input_gradient;
  };

  Mlp(std::span<const LayerShape> layers, Last last);

  // Makes room for the batch between these ends. Allocates only for a batch larger than any before.
  void attach(const Ends& ends);

  void forward(std::span<const float> parameters, std::size_t begin, std::size_t end);
  void backward(std::span<const float> parameters, std::size_t begin, std::size_t end);

  // Zeroes one example's inputs of all layers. Its gradients are then zero if its output gradient
  // is.
  void erase(std::size_t example);

  // Appends the trace that backward() leaves, layer by layer.
  void append_to(std::vector<LayerTrace>& traces) const;

 private:
  struct Layer {
    LayerShape shape;
    bool relu;
    Matrix own_output;    // the last layer has the caller's buffers
    Matrix own_gradient;  // instead of these two
    MatrixView input, output, output_gradient, input_gradient;
  };
  std::vector<Layer> layers_;
};

}  // namespace lazydp
