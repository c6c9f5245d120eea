#include "lazydp/release/loaded_model.h"

#include <cstddef>

#include "lazydp/embedding/pooling.h"
#include "lazydp/release/card.h"

namespace lazydp {
LoadedModel::LoadedModel(const std::string& folder, const ModelShape& shape,
                         const ScoreScaling& scaling)
    : LoadedModel(weights_of(folder, shape), shape, scaling) {}

LoadedModel::LoadedModel(const SafetensorsFile& weights, const ModelShape& shape,
                         const ScoreScaling& scaling)
    : shape_(shape), scaling_(scaling), model_(make_model(shape)) {
  for (const NamedTensor& tensor : model_->layout()) {
    weights.read(tensor.name, model_->parameters().subspan(tensor.first_parameter, tensor.size()));
  }
  tables_.reserve(shape.tables());
  for (std::size_t k = 0; k < shape.tables(); ++k) {
    Table& table = tables_.emplace_back(static_cast<TableId>(k), shape.table_rows[k], shape.dim);
    read_table(weights, k, {table.weights(), table.bytes() / sizeof(float)}, shape.dim);
  }
}

std::vector<TensorSource> LoadedModel::dense_weights() const {
  std::vector<TensorSource> tensors;
  for (const NamedTensor& tensor : model_->layout()) {
    tensors.push_back({.name = tensor.name,
                       .shape = tensor.shape,
                       .values = parameters().subspan(tensor.first_parameter, tensor.size())});
  }
  return tensors;
}

std::span<const float> LoadedModel::predict(const Batch& batch) {
  const std::span<const MatrixView> pooled = model_->begin_batch(batch.size);
  pool(tables_, batch.bags, shape_.mode, pooled);
  model_->forward(batch);
  scaled_.clear();
  for (const float logit : model_->logits()) scaled_.push_back(scaling_.of(logit));
  return scaled_;
}

}  // namespace lazydp
