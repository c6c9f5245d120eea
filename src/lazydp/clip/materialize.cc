// DP-SGD(B): forms every example's gradient in full, measures, clips and adds it (Abadi et al.
// 2016). It shares no norm formula with the other methods, so that comparing with it proves
// something.

#include <algorithm>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/base/parallel.h"
#include "lazydp/clip/gradient_method.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

// One example's gradient of one table, by row; a repeated id adds to the row that it already has.
class TableRows {
 public:
  void form(const Bags& bags, Pooling pooling, std::size_t example,
            std::span<const float> pooled_gradient) {
    const auto ids = bags.of(example);
    ids_.clear();
    rows_.reshape(ids.size(), pooled_gradient.size());
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const auto found = std::ranges::find(ids_, ids[k]);
      const auto place = static_cast<std::size_t>(found - ids_.begin());
      if (found == ids_.end()) {
        ids_.push_back(ids[k]);
        std::ranges::fill(rows_.row(place), 0.0f);
      }
      const float weight = bags.weight(bags.offsets[example] + k);
      const float divisor = pooling == Pooling::mean ? static_cast<float>(ids.size()) : 1.0f;
      add_scaled(weight / divisor, pooled_gradient, rows_.row(place));
    }
  }

  double squared_norm() const {
    double sum = 0.0;
    for (std::size_t r = 0; r < ids_.size(); ++r) sum += lazydp::squared_norm(rows_.row(r));
    return sum;
  }

 private:
  std::vector<RowId> ids_;
  Matrix rows_;
};

class Materialize : public GradientMethod {
 public:
  Materialize(Pooling pooling, std::size_t memory_budget)
      : pooling_(pooling), memory_budget_(memory_budget) {}

  Microbatches microbatches() const override { return microbatches_; }

  void compute(Model& model, const Batch& batch, double clip_norm, Gradient& gradient,
               StageClock& stages, const TablesReady& ready) override {
    const Tape& tape = model.backward(batch, {});
    stages.lap(Stage::backward);
    const std::size_t parameters = model.parameters().size();
    const std::size_t bytes = parameters * sizeof(float);
    microbatches_.examples =
        std::clamp<std::size_t>(memory_budget_ / bytes, 1, std::max<std::size_t>(1, batch.size));
    microbatches_.bytes_one_pass = bytes * batch.size;
    gradient.dense.assign(parameters, 0.0f);
    for (std::size_t first = 0; first < batch.size; first += microbatches_.examples) {
      const std::size_t count = std::min(microbatches_.examples, batch.size - first);
      form_and_measure(tape, batch, first, count, clip_norm, parameters);
      stages.lap(Stage::norms);
      add_clipped(count, gradient.dense);
      stages.lap(Stage::weight_gradients);
    }
    refer_to_tables(tape, batch, pooling_, gradient.tables);
    if (ready) ready(gradient.tables);
    stages.lap(Stage::weight_gradients);
  }

 private:
  // Writes the dense gradient of example first + i to formed_.row(i). Forms and measures its table
  // gradients, and scales the pooled gradients that they came from to what clipping leaves.
  void form_and_measure(const Tape& tape, const Batch& batch, std::size_t first, std::size_t count,
                        double clip_norm, std::size_t parameters) {
    formed_.reshape(count, parameters);
    factors_.resize(count);
    parallel_for(count, [&](std::size_t i) {
      const std::size_t example = first + i;
      double squared = 0.0;
      for (const LayerTrace& layer : tape.layers) {
        const auto part = formed_.row(i).subspan(layer.first_parameter, layer.parameters());
        form_layer_gradient(layer, example, part);
        squared += squared_norm(part);
      }
      thread_local TableRows rows;
      for (std::size_t k = 0; k < batch.bags.size(); ++k) {
        rows.form(batch.bags[k], pooling_, example, tape.pooled_gradients[k].row(example));
        squared += rows.squared_norm();
      }
      factors_[i] = clip_factor(squared, clip_norm);
      for (const MatrixView& pooled : tape.pooled_gradients) {
        scale_row(pooled.row(example), factors_[i]);
      }
    });
  }

  void add_clipped(std::size_t count, std::vector<float>& sum) const {
    constexpr std::size_t kParameters = 4096;
    parallel_blocks(sum.size(), kParameters, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = 0; i < count; ++i) {
        if (factors_[i] == 0.0f) continue;  // left out by selection: its values may be NaN
        add_scaled(factors_[i], formed_.row(i).subspan(begin, end - begin),
                   std::span(sum).subspan(begin, end - begin));
      }
    });
  }

  Pooling pooling_;
  std::size_t memory_budget_;
  Microbatches microbatches_;
  Matrix formed_;
  std::vector<float> factors_;
};

}  // namespace

std::unique_ptr<GradientMethod> make_materialize(Pooling pooling, std::size_t memory_budget) {
  return std::make_unique<Materialize>(pooling, memory_budget);
}

}  // namespace lazydp
