#include "lazydp/model/frozen_parts.h"

namespace lazydp {
namespace {

// Returns "bottom.0" of "bottom.0.weight".
std::string layer_of(const NamedTensor& tensor) {
  return tensor.name.substr(0, tensor.name.rfind('.'));
}

}  // namespace

std::vector<std::string> layer_names(const Model& model) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : model.layout()) {
    const std::string name = layer_of(tensor);
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

std::vector<IndexRange> trained_parameters(const Model& model, const FrozenParts& frozen) {
  std::vector<IndexRange> ranges;
  for (const NamedTensor& tensor : model.layout()) {
    if (std::ranges::find(frozen.layers, layer_of(tensor)) != frozen.layers.end()) continue;
    const bool goes_on =
        !ranges.empty() && ranges.back().first + ranges.back().count == tensor.first_parameter;
    if (goes_on) {
      ranges.back().count += tensor.size();
    } else {
      ranges.push_back({tensor.first_parameter, tensor.size()});
    }
  }
  return ranges;
}

PartlyFrozenModel::PartlyFrozenModel(Model& whole, const FrozenParts& frozen)
    : whole_(whole), frozen_(frozen), trained_(trained_parameters(whole, frozen)) {}

bool PartlyFrozenModel::trains(const LayerTrace& layer) const {
  return std::ranges::any_of(trained_, [&](const IndexRange& range) {
    return layer.first_parameter >= range.first &&
           layer.first_parameter < range.first + range.count;
  });
}

const Tape& PartlyFrozenModel::backward(const Batch& batch, std::span<const float> weight) {
  const Tape& whole = whole_.backward(batch, weight);
  if (frozen_.empty()) return whole;
  tape_.layers.clear();
  for (const LayerTrace& layer : whole.layers) {
    if (trains(layer)) tape_.layers.push_back(layer);
  }
  tape_.pooled_gradients.clear();
  for (std::size_t k = 0; k < whole.pooled_gradients.size(); ++k) {
    const MatrixView& gradients = whole.pooled_gradients[k];
    tape_.pooled_gradients.push_back(frozen_.has_table(k) ? gradients.cols_from(0, 0) : gradients);
  }
  return tape_;
}

}  // namespace lazydp
