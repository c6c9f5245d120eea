#pragma once
// A stack of linear layers with ReLU between them.

#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/model/model.h"
#include "lazydp/model/shape.h"

namespace lazydp {

// The elementwise passes of a linear layer: bias, ReLU, and ReLU's derivative. On the calling
// thread. A NaN goes through ReLU both ways, so that a bad example can be seen at the end.

// Adds `bias` to every row.
void add_bias(std::span<const float> bias, MatrixView y);

// Adds `bias` to every row; then negative values become 0.
void add_bias_and_relu(std::span<const float> bias, MatrixView y);

// From d loss / d relu(y) to d loss / d y, in place: zero where relu(y) is.
void relu_backward(ConstMatrixView activations, MatrixView gradients);

// Knows its layers' places in the array of all dense parameters, which each pass is given. Its two
// ends are the caller's memory, so that stacks join without copies; what lies between is its own.
//
// forward() and backward() run on the calling thread and touch the examples [begin, end) alone:
// different ranges may run at the same time.
class Mlp {
 public:
  enum class Last { relu, linear };  // what follows the last layer

  // Where a batch comes in and goes out, and likewise its gradients. backward() reads d loss /
  // d output in `output_gradient` and leaves d loss / d y of the last layer there; it writes
  // `input_gradient`, or skips that when the view has no columns.
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

  // Zeroes what one example left at the inputs of the layers. Its gradients then come out as zero
  // if its output gradient is.
  void erase(std::size_t example);

  // Adds what backward() leaves behind, layer by layer.
  void append_to(std::vector<LayerTrace>& traces) const;

 private:
  struct Layer {
    LayerShape shape;
    bool relu;
    Matrix own_output;    // not used by the last layer,
    Matrix own_gradient;  // which has the caller's
    MatrixView input, output, output_gradient, input_gradient;
  };
  std::vector<Layer> layers_;
};

}  // namespace lazydp
