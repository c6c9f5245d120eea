// DP-SGD(B): forms the gradient of every example, or unit, in full, measures, clips and adds it
// (Abadi et al. 2016). It shares no norm formula with the other methods, so that comparing with it
// proves something.

#include <algorithm>
#include <cmath>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/base/parallel.h"
#include "lazydp/clip/gradient_method.h"
#include "lazydp/clip/unit_norms.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {
namespace {

// A unit's gradient of one table, by row; a repeated id adds to the row that it already has.
class TableRows {
 public:
  void form(const Bags& bags, Pooling pooling, const UnitExamples& unit,
            ConstMatrixView pooled_gradients) {
    ids_.clear();
    terms_.clear();
    rows_.reshape(bags.offsets[unit.end] - bags.offsets[unit.begin], pooled_gradients.cols);
    for (std::size_t i = unit.begin; i < unit.end; ++i) {
      add(bags, pooling, i, pooled_gradients.row(i));
    }
  }

  double squared_norm() const {
    double sum = 0.0;
    for (std::size_t r = 0; r < ids_.size(); ++r) sum += lazydp::squared_norm(rows_.row(r));
    return sum;
  }

  // Returns what a unit is clipped by: every row longer by a part of the lengths of its terms.
  double squared_bound() const {
    double sum = 0.0;
    for (std::size_t r = 0; r < ids_.size(); ++r) {
      const double norm = std::sqrt(static_cast<double>(lazydp::squared_norm(rows_.row(r))));
      sum += std::pow(norm + kRounding * terms_[r], 2.0);
    }
    return sum;
  }

 private:
  void add(const Bags& bags, Pooling pooling, std::size_t example,
           std::span<const float> pooled_gradient) {
    const auto ids = bags.of(example);
    for (std::size_t k = 0; k < ids.size(); ++k) {
      const auto found = std::ranges::find(ids_, ids[k]);
      const auto place = static_cast<std::size_t>(found - ids_.begin());
      if (found == ids_.end()) {
        ids_.push_back(ids[k]);
        terms_.push_back(0.0);
        std::ranges::fill(rows_.row(place), 0.0f);
      }
      const float weight = bags.weight(bags.offsets[example] + k);
      const float divisor = pooling == Pooling::mean ? static_cast<float>(ids.size()) : 1.0f;
      add_scaled(weight / divisor, pooled_gradient, rows_.row(place));
      terms_[place] += std::abs(static_cast<double>(weight / divisor)) *
                       std::sqrt(static_cast<double>(lazydp::squared_norm(pooled_gradient)));
    }
  }

  std::vector<RowId> ids_;
  std::vector<double> terms_;  // by row: lengths of what was added
  Matrix rows_;
};

class Materialize : public GradientMethod {
 public:
  Materialize(Pooling pooling, std::size_t memory_budget)
      : pooling_(pooling), memory_budget_(memory_budget) {}

  Microbatches microbatches() const override { return microbatches_; }

  void compute(Model& model, const Batch& batch, double clip_norm, Gradient& gradient,
               StageClock& stages, const TablesReady& ready) override {
    const Tape& tape = model.backward(batch, mean_weights(batch, weights_));
    stages.lap(Stage::backward);
    const std::size_t parameters = model.parameters().size();
    const std::size_t bytes = parameters * sizeof(float);
    microbatches_.examples =
        std::clamp<std::size_t>(memory_budget_ / bytes, 1, std::max<std::size_t>(1, batch.units()));
    microbatches_.bytes_one_pass = bytes * batch.units();
    gradient.dense.assign(parameters, 0.0f);
    for (std::size_t first = 0; first < batch.units(); first += microbatches_.examples) {
      const std::size_t count = std::min(microbatches_.examples, batch.units() - first);
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
  // Writes the dense gradient of unit first + i to formed_.row(i). Forms and measures its table
  // gradients, and scales the pooled gradients that they came from to what clipping leaves.
  void form_and_measure(const Tape& tape, const Batch& batch, std::size_t first, std::size_t count,
                        double clip_norm, std::size_t parameters) {
    formed_.reshape(count, parameters);
    std::size_t formed = 0;
    for (const LayerTrace& layer : tape.layers) formed += layer.parameters();
    if (formed < parameters) formed_.fill(0.0f);  // some layers do not train
    factors_.resize(count);
    parallel_for(count, [&](std::size_t i) {
      const UnitExamples unit = batch.unit(first + i);
      double squared = 0.0;
      for (const LayerTrace& layer : tape.layers) {
        const auto part = formed_.row(i).subspan(layer.first_parameter, layer.parameters());
        form_layer_gradient(layer, unit, part);
        squared += batch.has_units() ? squared_bound_of(layer, unit, part) : squared_norm(part);
      }
      thread_local TableRows rows;
      for (std::size_t k = 0; k < batch.bags.size(); ++k) {
        if (tape.pooled_gradients[k].cols == 0) continue;  // it does not train
        rows.form(batch.bags[k], pooling_, unit, tape.pooled_gradients[k]);
        squared += batch.has_units() ? rows.squared_bound() : rows.squared_norm();
      }
      factors_[i] = clip_factor(squared, clip_norm);
      for (const MatrixView& pooled : tape.pooled_gradients) {
        for (std::size_t j = unit.begin; j < unit.end; ++j) scale_row(pooled.row(j), factors_[i]);
      }
    });
  }

  // Returns what a unit is clipped by: weight and bias, each longer by a part of the lengths of its
  // terms. Dense gradients that were measured are applied as they are and would not need it; with
  // it, all methods clip alike.
  static double squared_bound_of(const LayerTrace& layer, const UnitExamples& unit,
                                 std::span<const float> formed) {
    const std::size_t weights = formed.size() - layer.gradients.cols;
    double weight = std::sqrt(static_cast<double>(squared_norm(formed.first(weights))));
    double bias = std::sqrt(static_cast<double>(squared_norm(formed.subspan(weights))));
    for (std::size_t i = unit.begin; i < unit.end; ++i) {
      const double d = std::sqrt(static_cast<double>(squared_norm(layer.gradients.row(i))));
      const double x = std::sqrt(static_cast<double>(squared_norm(layer.inputs.row(i))));
      weight += kRounding * x * d;
      bias += kRounding * d;
    }
    return weight * weight + bias * bias;
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
  std::vector<float> weights_;
  Matrix formed_;
  std::vector<float> factors_;
};

}  // namespace

std::unique_ptr<GradientMethod> make_materialize(Pooling pooling, std::size_t memory_budget) {
  return std::make_unique<Materialize>(pooling, memory_budget);
}

}  // namespace lazydp
