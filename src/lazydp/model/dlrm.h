#pragma once
// The deep-learning recommendation model: bottom MLP, dot interaction with the tables, top MLP.

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/model/mlp.h"
#include "lazydp/model/model.h"
#include "lazydp/model/shape.h"

namespace lazydp {

// Parameters are the bottom layers' in order, then the top layers', each W (out x in), then b.
//
// Both passes cut the batch into blocks of examples and carry each block from end to end on one
// thread: activations stay in its cache, threads synchronize once, and since blocks depend on the
// batch alone the results are the same bits on any number of threads. Once a batch size has been
// seen, nothing is allocated.
class Dlrm final : public Model {
 public:
  explicit Dlrm(ModelShape shape);
  Dlrm(const Dlrm&) = delete;  // the tape holds views of this object's buffers
  Dlrm& operator=(const Dlrm&) = delete;

  const ModelShape& shape() const { return shape_; }

  std::vector<NamedTensor> layout() const override;
  std::span<float> parameters() override { return parameters_.row(0); }

  // As PyTorch's nn.Linear does: weights and biases uniform in ±sqrt(1 / in), drawn in the order of
  // the array.
  void initialise(const std::function<double()>& uniform) override;

  std::span<const MatrixView> begin_batch(std::size_t batch_size) override;
  void begin_forward(const Batch& batch) override;
  void forward(const Batch& batch) override;
  std::span<const float> logits() const override { return {logits_.data(), logits_.rows()}; }
  std::span<const float> losses() const override { return losses_; }

  // May be called again after the same forward(), with other weights; an example that once had
  // weight 0 stays erased until the next forward().
  const Tape& backward(const Batch& batch, std::span<const float> weight) override;

 private:
  void make_room(std::size_t batch_size);
  void require_fits(const Batch& batch) const;
  void forward_bottom(const Batch& batch, std::size_t begin, std::size_t end);
  void forward_block(const Batch& batch, std::size_t begin, std::size_t end);
  void backward_block(std::span<const float> weight, std::size_t begin, std::size_t end);
  void add_linear_term(std::size_t begin, std::size_t end);
  void add_linear_gradient(std::size_t begin, std::size_t end);
  void erase(std::size_t example);

  ModelShape shape_;
  Matrix parameters_;
  Mlp bottom_;
  Mlp top_;
  Matrix dense_;         // batch x dense features: a copy, because backward() may erase rows
  Matrix features_;      // batch x (tables + 1) dim: bottom output, then pooled vectors
  Matrix interactions_;  // batch x interaction width: the top MLP's input
  Matrix logits_;        // batch x 1
  bool begun_ = false;   // the bottom MLP has processed this batch
  std::vector<float> losses_;
  std::vector<float> loss_gradients_;  // d loss / d logit before weights
  Matrix feature_gradients_;
  Matrix interaction_gradients_;
  Matrix logit_gradients_;  // weighted
  std::vector<MatrixView> pooled_;
  Tape tape_;
};

}  // namespace lazydp
