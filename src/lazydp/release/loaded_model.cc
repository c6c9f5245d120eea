#include "lazydp/release/loaded_model.h"

#include <cstddef>
#include <cstdint>

#include "lazydp/base/error.h"
#include "lazydp/embedding/pooling.h"
#include "lazydp/export/export_weights.h"
#include "lazydp/release/card.h"

namespace lazydp {
namespace {

// Opens the weights, and checks that the file has as many floats as the model: whatever else is
// wrong, memory suffices for it.
SafetensorsFile weights_of(const std::string& folder, const ModelShape& shape) {
  SafetensorsFile file(folder + kWeights);
  std::uint64_t bytes = 0;
  for (const SafetensorsFile::Tensor& tensor : file.tensors()) bytes += tensor.end - tensor.begin;
  const std::uint64_t wanted = shape.parameters() * sizeof(float) + shape.table_bytes();
  if (bytes != wanted) {
    throw UserError(folder + ": the card speaks of " + std::to_string(wanted) +
                    " bytes of weights, the file has " + std::to_string(bytes));
  }
  return file;
}

}  // namespace

ModelShape shape_on_card(const Json& card) {
  try {
    ModelShape shape = shape_from(card.at("model"));
    shape.validate();
    return shape;
  } catch (const Json::exception& error) {
    throw UserError(std::string("the card's model cannot be read: ") + error.what());
  }
}

LoadedModel::LoadedModel(const std::string& folder, const ModelShape& shape)
    : LoadedModel(weights_of(folder, shape), shape) {}

LoadedModel::LoadedModel(const SafetensorsFile& weights, const ModelShape& shape)
    : model_(make_model(shape)), mode_(shape.mode) {
  for (const NamedTensor& tensor : model_->layout()) {
    weights.read(tensor.name, model_->parameters().subspan(tensor.first_parameter, tensor.size()));
  }
  tables_.reserve(shape.tables());
  for (std::size_t k = 0; k < shape.tables(); ++k) {
    Table& table = tables_.emplace_back(static_cast<TableId>(k), shape.table_rows[k], shape.dim);
    weights.read(table_name(k), {table.weights(), table.bytes() / sizeof(float)});
  }
}

std::span<const float> LoadedModel::predict(const Batch& batch) {
  const std::span<const MatrixView> pooled = model_->begin_batch(batch.size);
  pool(tables_, batch.bags, mode_, pooled);
  model_->forward(batch);
  return model_->logits();
}

}  // namespace lazydp
