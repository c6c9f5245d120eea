#pragma once
// From a batch to the sum of its clipped per-example gradients: the four ways.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "lazydp/base/stages.h"
#include "lazydp/embedding/pooling.h"
#include "lazydp/model/model.h"

namespace lazydp {

// A sum over the batch, never a mean: the noise is calibrated to the sensitivity of a sum. Table
// gradients are views of the batch and of the model's buffers, valid until its next forward().
struct Gradient {
  std::vector<float> dense;  // as Model::parameters()
  std::vector<TableGradient> tables;
};

enum class ClipMethod : std::uint8_t {
  none,         // plain sum, no clipping: SGD
  materialize,  // every example's whole gradient is formed, clipped and added: DP-SGD(B)
  reweight,     // layer by layer, example gradients are formed for their norm; then back-propagates
                // again with weighted losses: DP-SGD(R)
  ghost,        // norms straight from layer inputs and output gradients, one backward: DP-SGD(F)
};

// What materialising costs in memory, for reports; zeros for the other methods.
struct Microbatches {
  std::size_t examples = 0;        // whose gradients are held at a time
  std::size_t bytes_one_pass = 0;  // that holding those of the whole batch would take
};

// Hears of the gradients of tables, clipped, before those of dense layers have been added up: they
// may have a way to go meanwhile.
using TablesReady = std::function<void(std::span<const TableGradient>)>;

class GradientMethod {
 public:
  virtual ~GradientMethod() = default;

  // `model` has just run forward() on `batch`. Each example's gradient over all parameters, tables
  // included, is scaled to an L2 norm of at most `clip_norm`; an example whose gradient is not
  // finite is left out, and nothing tells that it was there.
  virtual void compute(Model& model, const Batch& batch, double clip_norm, Gradient& gradient,
                       StageClock& stages, const TablesReady& ready = {}) = 0;

  virtual Microbatches microbatches() const { return {}; }
};

// `pooling` is how bags become vectors. `memory_budget` bounds what `materialize` holds at a time.
std::unique_ptr<GradientMethod> make_gradient_method(ClipMethod method, Pooling pooling,
                                                     std::size_t memory_budget);

}  // namespace lazydp
