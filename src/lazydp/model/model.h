#pragma once
// The interface between the training loop and a model.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/data/batch.h"

namespace lazydp {

// The trace of a linear layer y = W x + b: enough to form every example's gradient of W and b. The
// views are of the model's own buffers, valid until its next forward().
struct LayerTrace {
  MatrixView inputs;                // batch x in
  MatrixView gradients;             // batch x out: d loss / d y
  std::size_t first_parameter = 0;  // W (out x in, row-major), then b (out), in parameters()

  std::size_t parameters() const { return gradients.cols * (inputs.cols + 1); }
};

// The result of a backward pass: any weight gradient, of one example or of all, is a function of
// it. No two views share memory: a gradient method may scale them where they lie.
struct Tape {
  std::vector<LayerTrace> layers;
  // Per table, batch x dim: d loss / d pooled vector; batch x 0 for a table that does not train.
  std::vector<MatrixView> pooled_gradients;
};

// A dense weight under the name that it has in a PyTorch module of the same shape.
struct NamedTensor {
  std::string name;                // "bottom.0.weight"
  std::vector<std::size_t> shape;  // row-major
  std::size_t first_parameter = 0;

  std::size_t size() const;  // number of weights
};

class Model {
 public:
  virtual ~Model() = default;

  // Counts the loss of every positive example so many times, from the next forward() on.
  void weigh_positives(float weight) { positive_weight_ = weight; }

  // Returns how many times the loss of an example with this label counts.
  float weight_of(float label) const { return label > 0.5f ? positive_weight_ : 1.0f; }

  // Returns every dense weight's name and shape, in the order of parameters().
  virtual std::vector<NamedTensor> layout() const = 0;

  // Returns all dense weights as one array: zeros until the caller fills them.
  virtual std::span<float> parameters() = 0;

  // Sets every dense weight as training starts. `uniform` returns the next number in (0, 1).
  virtual void initialise(const std::function<double()>& uniform) = 0;

  // Returns the buffers for the pooled vectors of the next forward(): one view per table,
  // `batch_size` x dim.
  virtual std::span<const MatrixView> begin_batch(std::size_t batch_size) = 0;

  // Does the part of forward() that needs no pooled vectors, while these are being received.
  // Calling it is optional.
  virtual void begin_forward(const Batch& batch) = 0;

  // Computes logit and loss of every example from dense features and what begin_batch() returned;
  // keeps activations.
  virtual void forward(const Batch& batch) = 0;
  virtual std::span<const float> logits() const = 0;
  virtual std::span<const float> losses() const = 0;

  // Back-propagates sum_i weight[i] * loss[i] of the last forward() down to the inputs of every
  // layer and to the pooled vectors. An empty `weight` means all ones. It forms no weight gradient:
  // that is the gradient method's choice. An example of weight 0 leaves rows of zeros in the tape,
  // layer inputs included, whatever its values: 0 * NaN would be NaN.
  virtual const Tape& backward(const Batch& batch, std::span<const float> weight) = 0;

 private:
  float positive_weight_ = 1.0f;
};

struct ModelShape;

// Returns the model of a shape, all weights zero. Throws UserError for a shape that no model has.
std::unique_ptr<Model> make_model(const ModelShape& shape);

}  // namespace lazydp
