#include "lazydp/model/dlrm.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/model/gemm.h"
#include "lazydp/model/interaction.h"
#include "lazydp/model/loss.h"

namespace lazydp {

Dlrm::Dlrm(ModelShape shape)
    : shape_((shape.validate(), std::move(shape))),
      parameters_(1, shape_.parameters()),
      bottom_(shape_.bottom_layers(), Mlp::Last::relu),
      top_(shape_.top_layers(), Mlp::Last::linear) {
  make_room(1);  // so that views of an empty batch point to memory, not to null
  make_room(0);
}

// nn.Sequential also counts the ReLU after every layer.
std::vector<NamedTensor> Dlrm::layout() const {
  std::vector<NamedTensor> tensors;
  const auto add = [&tensors](const std::string& stack, std::span<const LayerShape> layers) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const LayerShape& layer = layers[i];
      const std::string name = stack + "." + std::to_string(2 * i);
      tensors.push_back({name + ".weight", {layer.out, layer.in}, layer.first_parameter});
      tensors.push_back({name + ".bias", {layer.out}, layer.first_bias()});
    }
  };
  add("bottom", shape_.bottom_layers());
  add("top", shape_.top_layers());
  return tensors;
}

void Dlrm::initialise(const std::function<double()>& uniform) {
  for (const auto& layers : {shape_.bottom_layers(), shape_.top_layers()}) {
    for (const LayerShape& layer : layers) {
      const double bound = std::sqrt(1.0 / static_cast<double>(layer.in));
      for (float& p : parameters().subspan(layer.first_parameter, layer.parameters())) {
        p = static_cast<float>((2.0 * uniform() - 1.0) * bound);
      }
    }
  }
}

std::span<const MatrixView> Dlrm::begin_batch(std::size_t batch_size) {
  make_room(batch_size);
  return pooled_;
}

void Dlrm::make_room(std::size_t batch_size) {
  begun_ = false;
  const std::size_t dim = shape_.dim;
  for (Matrix* m : {&features_, &feature_gradients_}) {
    m->reshape(batch_size, (shape_.tables() + 1) * dim);
  }
  for (Matrix* m : {&interactions_, &interaction_gradients_}) {
    m->reshape(batch_size, shape_.interaction_width());
  }
  for (Matrix* m : {&logits_, &logit_gradients_}) m->reshape(batch_size, 1);
  for (auto* v : {&losses_, &loss_gradients_}) v->resize(batch_size);
  dense_.reshape(batch_size, shape_.dense_features());

  bottom_.attach({.input = dense_.view(),
                  .output = features_.view().cols_from(0, dim),
                  .output_gradient = feature_gradients_.view().cols_from(0, dim),
                  .input_gradient = {}});
  top_.attach({.input = interactions_.view(),
               .output = logits_.view(),
               .output_gradient = logit_gradients_.view(),
               .input_gradient = interaction_gradients_.view()});

  pooled_.clear();
  tape_.pooled_gradients.clear();
  for (std::size_t t = 1; t <= shape_.tables(); ++t) {
    pooled_.push_back(features_.view().cols_from(t * dim, dim));
    tape_.pooled_gradients.push_back(feature_gradients_.view().cols_from(t * dim, dim));
  }
  tape_.layers.clear();
  bottom_.append_to(tape_.layers);
  top_.append_to(tape_.layers);
}

void Dlrm::require_fits(const Batch& batch) const {
  check(batch.size == features_.rows(), "begin_batch() was called for a batch of this size");
  check(batch.dense.rows() == batch.size && batch.dense.cols() == shape_.dense_features(),
        "dense features fit the model");
  check(batch.labels.size() == batch.size, "one label for each example");
}

void Dlrm::begin_forward(const Batch& batch) {
  require_fits(batch);
  parallel_blocks(batch.size, examples_per_block(batch.size),
                  [&](std::size_t begin, std::size_t end) { forward_bottom(batch, begin, end); });
  begun_ = true;
}

void Dlrm::forward(const Batch& batch) {
  require_fits(batch);
  parallel_blocks(batch.size, examples_per_block(batch.size),
                  [&](std::size_t begin, std::size_t end) {
                    if (!begun_) forward_bottom(batch, begin, end);
                    forward_block(batch, begin, end);
                  });
  begun_ = false;
}

const Tape& Dlrm::backward(const Batch& batch, std::span<const float> weight) {
  check(batch.size == features_.rows(), "backward() follows the forward() of its batch");
  check(weight.empty() || weight.size() == batch.size, "one weight for each example");
  parallel_blocks(batch.size, examples_per_block(batch.size),
                  [&](std::size_t begin, std::size_t end) { backward_block(weight, begin, end); });
  return tape_;
}

void Dlrm::forward_bottom(const Batch& batch, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    std::ranges::copy(batch.dense.row(i), dense_.row(i).begin());
  }
  bottom_.forward(parameters(), begin, end);
}

void Dlrm::forward_block(const Batch& batch, std::size_t begin, std::size_t end) {
  const std::size_t count = end - begin;
  interact(features_.view().rows_from(begin, count), shape_.dim,
           interactions_.view().rows_from(begin, count));
  top_.forward(parameters(), begin, end);
  if (shape_.has_linear_term()) add_linear_term(begin, end);
  for (std::size_t i = begin; i < end; ++i) {
    const float label = batch.labels[i];
    losses_[i] = weight_of(label) * log_loss(logits()[i], label);
    loss_gradients_[i] = weight_of(label) * log_loss_gradient(logits()[i], label);
  }
}

void Dlrm::backward_block(std::span<const float> weight, std::size_t begin, std::size_t end) {
  const std::size_t count = end - begin;
  for (std::size_t i = begin; i < end; ++i) {
    const float w = weight.empty() ? 1.0f : weight[i];
    if (w == 0.0f) erase(i);  // erases its loss gradient, too
    logit_gradients_.row(i)[0] = w * loss_gradients_[i];
  }
  top_.backward(parameters(), begin, end);
  interact_backward(features_.view().rows_from(begin, count), shape_.dim,
                    interaction_gradients_.view().rows_from(begin, count),
                    feature_gradients_.view().rows_from(begin, count));
  if (shape_.has_linear_term()) add_linear_gradient(begin, end);
  bottom_.backward(parameters(), begin, end);
}

// Adds the first coordinates of an example's pooled vectors to its logit.
void Dlrm::add_linear_term(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t t = 1; t <= shape_.tables(); ++t) {
      logits_.row(i)[0] += features_.row(i)[t * shape_.dim];
    }
  }
}

void Dlrm::add_linear_gradient(std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) {
    for (std::size_t t = 1; t <= shape_.tables(); ++t) {
      feature_gradients_.row(i)[t * shape_.dim] += logit_gradients_.row(i)[0];
    }
  }
}

// Erases all values of an example from which a gradient could be computed.
void Dlrm::erase(std::size_t example) {
  bottom_.erase(example);
  std::ranges::fill(features_.row(example), 0.0f);
  top_.erase(example);
  loss_gradients_[example] = 0.0f;
}

}  // namespace lazydp
