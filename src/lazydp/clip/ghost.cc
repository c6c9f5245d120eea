// DP-SGD(F): computes norms from layer inputs and output gradients, with a single backward pass.
//
// Back-propagation is linear in each example's output gradient, so clipping can wait until it is
// over: scaling row i of every output gradient by example i's factor gives what a second, weighted
// pass would have given (Denison et al. 2022). The examples of a unit have one factor.

#include <vector>

#include "lazydp/base/parallel.h"
#include "lazydp/clip/gradient_method.h"
#include "lazydp/clip/unit_norms.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

class Ghost : public GradientMethod {
 public:
  explicit Ghost(Pooling pooling) : pooling_(pooling) {}

  void compute(Model& model, const Batch& batch, double clip_norm, Gradient& gradient,
               StageClock& stages, const TablesReady& ready) override {
    const Tape& tape = model.backward(batch, mean_weights(batch, weights_));
    stages.lap(Stage::backward);
    constexpr std::size_t kExamples = 32;
    const std::size_t block = units_per_task(batch, kExamples);
    parallel_blocks(batch.units(), block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t u = begin; u < end; ++u) {
        const float factor = clip_factor(squared_norm_of(tape, batch, u), clip_norm);
        const UnitExamples unit = batch.unit(u);
        for (std::size_t i = unit.begin; i < unit.end; ++i) scale_example(tape, i, factor);
      }
    });
    stages.lap(Stage::norms);
    refer_to_tables(tape, batch, pooling_, gradient.tables);
    if (ready) ready(gradient.tables);
    sum_dense(tape, batch, model.parameters().size(), gradient.dense);
    stages.lap(Stage::weight_gradients);
  }

 private:
  double squared_norm_of(const Tape& tape, const Batch& batch, std::size_t u) const {
    return batch.has_units() ? squared_norm_of_unit(tape, batch, batch.unit(u))
                             : squared_norm_of_example(tape, batch, u);
  }

  double squared_norm_of_unit(const Tape& tape, const Batch& batch,
                              const UnitExamples& unit) const {
    thread_local UnitNorms norms;
    double sum = norms.squared_tables(tape, batch, pooling_, unit);
    for (const LayerTrace& layer : tape.layers) sum += norms.squared_layer(layer, unit);
    return sum;
  }

  // The gradient of W is the outer product of d and x, so its norm is |d||x|; that of b is |d|.
  double squared_norm_of_example(const Tape& tape, const Batch& batch, std::size_t i) const {
    double sum = squared_tables_norm(tape, batch, pooling_, i);
    for (const LayerTrace& layer : tape.layers) {
      sum += static_cast<double>(squared_norm(layer.gradients.row(i))) *
             (static_cast<double>(squared_norm(layer.inputs.row(i))) + 1.0);
    }
    return sum;
  }

  static void scale_example(const Tape& tape, std::size_t i, float factor) {
    for (const LayerTrace& layer : tape.layers) {
      scale_row(layer.gradients.row(i), factor);
      if (factor == 0.0f) scale_row(layer.inputs.row(i), 0.0f);
    }
    for (const MatrixView& pooled : tape.pooled_gradients) scale_row(pooled.row(i), factor);
  }

  Pooling pooling_;
  std::vector<float> weights_;
};

}  // namespace

std::unique_ptr<GradientMethod> make_ghost(Pooling pooling) {
  return std::make_unique<Ghost>(pooling);
}

}  // namespace lazydp
