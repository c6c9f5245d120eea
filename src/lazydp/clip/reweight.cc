// DP-SGD(R): forms example gradients layer by layer for their norm and drops them; then
// back-propagates the weighted losses once more (Lee and Kifer 2021).

#include <algorithm>
#include <vector>

#include "lazydp/base/parallel.h"
#include "lazydp/clip/gradient_method.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

class Reweight : public GradientMethod {
 public:
  explicit Reweight(Pooling pooling) : pooling_(pooling) {}

  void compute(Model& model, const Batch& batch, double clip_norm, Gradient& gradient,
               StageClock& stages, const TablesReady& ready) override {
    const Tape& tape = model.backward(batch, {});
    stages.lap(Stage::backward);
    factors_.resize(batch.size);
    constexpr std::size_t kExamples = 8;
    parallel_blocks(batch.size, kExamples, [&](std::size_t begin, std::size_t end) {
      thread_local std::vector<float> formed;
      for (std::size_t i = begin; i < end; ++i) {
        double squared = squared_tables_norm(tape, batch, pooling_, i);
        for (const LayerTrace& layer : tape.layers) {
          formed.resize(std::max(formed.size(), layer.parameters()));
          const std::span<float> out = std::span(formed).first(layer.parameters());
          form_layer_gradient(layer, i, out);
          squared += squared_norm(out);
        }
        factors_[i] = clip_factor(squared, clip_norm);
      }
    });
    stages.lap(Stage::norms);
    const Tape& weighted = model.backward(batch, factors_);
    stages.lap(Stage::backward_again);
    refer_to_tables(weighted, batch, pooling_, gradient.tables);
    if (ready) ready(gradient.tables);
    sum_dense(weighted, model.parameters().size(), gradient.dense);
    stages.lap(Stage::weight_gradients);
  }

 private:
  Pooling pooling_;
  std::vector<float> factors_;
};

}  // namespace

std::unique_ptr<GradientMethod> make_reweight(Pooling pooling) {
  return std::make_unique<Reweight>(pooling);
}

}  // namespace lazydp
