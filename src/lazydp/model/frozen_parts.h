#pragma once
// The parts of a model that keep their weights, and a model whose backward pass leaves them out.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "lazydp/base/types.h"
#include "lazydp/model/model.h"

namespace lazydp {

// Parts that keep the weights that they have: neither gradient nor noise reaches them.
struct FrozenParts {
  std::vector<std::size_t> tables;  // ascending
  std::vector<std::string> layers;  // "bottom.0", in the order of their parameters

  bool operator==(const FrozenParts&) const = default;

  bool empty() const { return tables.empty() && layers.empty(); }
  bool has_table(std::size_t table) const { return std::ranges::binary_search(tables, table); }
};

// Returns the names of a model's layers, in the order of their parameters.
std::vector<std::string> layer_names(const Model& model);

// Returns the ranges of a model's dense weights that train, ascending.
std::vector<IndexRange> trained_parameters(const Model& model, const FrozenParts& frozen);

// The gradient of a model that is partly frozen is that of the other parts: everything that looks
// at a tape, norms and sums alike, sees them alone. A frozen table has pooled gradients of width 0.
class PartlyFrozenModel final : public Model {
 public:
  // `whole` must outlive this object.
  PartlyFrozenModel(Model& whole, const FrozenParts& frozen);

  std::vector<NamedTensor> layout() const override { return whole_.layout(); }
  std::span<float> parameters() override { return whole_.parameters(); }
  void initialise(const std::function<double()>& uniform) override { whole_.initialise(uniform); }
  std::span<const MatrixView> begin_batch(std::size_t batch_size) override {
    return whole_.begin_batch(batch_size);
  }
  void begin_forward(const Batch& batch) override { whole_.begin_forward(batch); }
  void forward(const Batch& batch) override { whole_.forward(batch); }
  std::span<const float> logits() const override { return whole_.logits(); }
  std::span<const float> losses() const override { return whole_.losses(); }
  const Tape& backward(const Batch& batch, std::span<const float> weight) override;

 private:
  bool trains(const LayerTrace& layer) const;

  Model& whole_;
  FrozenParts frozen_;
  std::vector<IndexRange> trained_;
  Tape tape_;
};

}  // namespace lazydp
