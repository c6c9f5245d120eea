// DP-SGD(R): forms example gradients layer by layer for their norm and drops them; then
// back-propagates the weighted losses once more (Lee and Kifer 2021).

#include <algorithm>
#include <cmath>
#include <vector>

#include "lazydp/base/parallel.h"
#include "lazydp/clip/gradient_method.h"
#include "lazydp/clip/unit_norms.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

class Reweight : public GradientMethod {
 public:
  explicit Reweight(Pooling pooling) : pooling_(pooling) {}

  void compute(Model& model, const Batch& batch, double clip_norm, Gradient& gradient,
               StageClock& stages, const TablesReady& ready) override {
    const std::span<const float> means = mean_weights(batch, means_);
    const Tape& tape = model.backward(batch, means);
    stages.lap(Stage::backward);
    factors_.resize(batch.size);
    constexpr std::size_t kExamples = 8;
    const std::size_t block = units_per_task(batch, kExamples);
    parallel_blocks(batch.units(), block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t u = begin; u < end; ++u) {
        const UnitExamples unit = batch.unit(u);
        const float factor = clip_factor(squared_norm_of(tape, batch, unit), clip_norm);
        for (std::size_t i = unit.begin; i < unit.end; ++i) {
          factors_[i] = means.empty() ? factor : factor * means[i];
        }
      }
    });
    stages.lap(Stage::norms);
    const Tape& weighted = model.backward(batch, factors_);
    stages.lap(Stage::backward_again);
    refer_to_tables(weighted, batch, pooling_, gradient.tables);
    if (ready) ready(gradient.tables);
    sum_dense(weighted, batch, model.parameters().size(), gradient.dense);
    stages.lap(Stage::weight_gradients);
  }

 private:
  double squared_norm_of(const Tape& tape, const Batch& batch, const UnitExamples& unit) const {
    thread_local UnitNorms norms;
    double squared = batch.has_units() ? norms.squared_tables(tape, batch, pooling_, unit)
                                       : squared_tables_norm(tape, batch, pooling_, unit.begin);
    thread_local std::vector<float> formed;
    for (const LayerTrace& layer : tape.layers) {
      formed.resize(std::max(formed.size(), layer.parameters()));
      const std::span<float> out = std::span(formed).first(layer.parameters());
      form_layer_gradient(layer, unit, out);
      if (batch.has_units()) {
        const std::size_t weights = layer.parameters() - layer.gradients.cols;
        const TermLengths terms = term_lengths(layer, unit);
        squared += squared_bound(std::sqrt(squared_norm(out.first(weights))), terms.weight) +
                   squared_bound(std::sqrt(squared_norm(out.subspan(weights))), terms.bias);
      } else {
        squared += squared_norm(out);
      }
    }
    return squared;
  }

  Pooling pooling_;
  std::vector<float> means_;
  std::vector<float> factors_;  // by example
};

}  // namespace

std::unique_ptr<GradientMethod> make_reweight(Pooling pooling) {
  return std::make_unique<Reweight>(pooling);
}

}  // namespace lazydp
