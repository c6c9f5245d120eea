#pragma once
// Computes the sum of the clipped gradients of a batch's examples, or units, in four ways.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lazydp/base/stages.h"
#include "lazydp/embedding/pooling.h"
#include "lazydp/kernels/vector.h"
#include "lazydp/model/model.h"

namespace lazydp {

// Returns the factor that clips the gradient of an example or unit: min(1, C / norm), minus a
// margin so that rounding cannot carry a norm beyond C; and 0 for a norm that is not finite: it is
// left out, because a NaN in the sum, or an exception, would reveal that it was there.
inline float clip_factor(double squared_norm, double clip_norm) {
  if (!std::isfinite(squared_norm)) return 0.0f;
  constexpr double kBelow = 1.0 - 1e-5;
  const double norm = std::sqrt(squared_norm);
  const double bound = clip_norm * kBelow;
  return norm > bound ? static_cast<float>(bound / norm) : 1.0f;
}

// A sum over the batch, never a mean: the noise is calibrated to the sensitivity of a sum. Table
// gradients are views of the batch and of the model's buffers, valid until its next forward().
struct Gradient {
  std::vector<float> dense;  // laid out as Model::parameters()
  std::vector<TableGradient> tables;
};

enum class ClipMethod : std::uint8_t {
  none,         // plain sum, no clipping: SGD
  materialize,  // forms, clips and adds every example's whole gradient: DP-SGD(B)
  reweight,     // forms example gradients layer by layer for their norm; then back-propagates
                // again with weighted losses: DP-SGD(R)
  ghost,        // norms straight from layer inputs and output gradients, one backward: DP-SGD(F)
};

// The memory that materializing takes, for reports; zeros for the other methods.
struct Microbatches {
  std::size_t examples = 0;        // examples whose gradients are held at a time
  std::size_t bytes_one_pass = 0;  // bytes that holding those of the whole batch would take
};

// Receives the clipped gradients of tables before those of dense layers have been summed, so that
// they can be sent to other ranks meanwhile.
using TablesReady = std::function<void(std::span<const TableGradient>)>;

class GradientMethod {
 public:
  virtual ~GradientMethod() = default;

  // Computes the sum of clipped gradients. `model` has just run forward() on `batch`. Each
  // example's gradient over all parameters, tables included, is scaled to an L2 norm of at most
  // `clip_norm`; an example whose gradient is not finite is left out, and nothing reveals that it
  // was there. Where the batch has units, that holds for each unit's mean gradient instead.
  virtual void compute(Model& model, const Batch& batch, double clip_norm, Gradient& gradient,
                       StageClock& stages, const TablesReady& ready = {}) = 0;

  virtual Microbatches microbatches() const { return {}; }
};

// `pooling` says how bags become vectors. `memory_budget` bounds the bytes that `materialize` holds
// at a time.
std::unique_ptr<GradientMethod> make_gradient_method(ClipMethod method, Pooling pooling,
                                                     std::size_t memory_budget);

// The four methods, each in a file of its own, and the functions that they share.
std::unique_ptr<GradientMethod> make_plain(Pooling pooling);
std::unique_ptr<GradientMethod> make_materialize(Pooling pooling, std::size_t memory_budget);
std::unique_ptr<GradientMethod> make_reweight(Pooling pooling);
std::unique_ptr<GradientMethod> make_ghost(Pooling pooling);

// Sum over examples the gradients that the tape holds: dense weight gradients by one product a
// layer, table gradients as factors. Terms of a unit may cancel: those are summed in parts, as
// kRounding assumes.
void sum_dense(const Tape& tape, const Batch& batch, std::size_t parameters,
               std::vector<float>& dense);
void refer_to_tables(const Tape& tape, const Batch& batch, Pooling pooling,
                     std::vector<TableGradient>& tables);

// Returns the squared norm of example i's gradient of all tables.
double squared_tables_norm(const Tape& tape, const Batch& batch, Pooling pooling, std::size_t i);

// Scales example i's share of a gradient by `factor`. A factor of 0 selects: whatever the values
// were, it writes zeros.
void scale_row(std::span<float> row, float factor);

// Forms one example's gradient of one linear layer in full.

// Writes out = (d xᵀ, d): W's gradient row by row, then b's. `out` has layer.parameters() floats.
inline void form_layer_gradient(const LayerTrace& layer, std::size_t example,
                                std::span<float> out) {
  const auto x = layer.inputs.row(example);
  const auto d = layer.gradients.row(example);
  for (std::size_t o = 0; o < d.size(); ++o) {
    for (std::size_t j = 0; j < x.size(); ++j) out[o * x.size() + j] = d[o] * x[j];
    out[d.size() * x.size() + o] = d[o];
  }
}

// Writes the sum of the unit's (d xᵀ, d).
inline void form_layer_gradient(const LayerTrace& layer, const UnitExamples& unit,
                                std::span<float> out) {
  form_layer_gradient(layer, unit.begin, out);
  for (std::size_t i = unit.begin + 1; i < unit.end; ++i) {
    const auto x = layer.inputs.row(i);
    const auto d = layer.gradients.row(i);
    for (std::size_t o = 0; o < d.size(); ++o) {
      add_scaled(d[o], x, out.subspan(o * x.size(), x.size()));
      out[d.size() * x.size() + o] += d[o];
    }
  }
}

}  // namespace lazydp
