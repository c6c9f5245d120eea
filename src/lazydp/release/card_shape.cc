// The shape on a card, and weights that have it.

#include <cstdint>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/release/card.h"

namespace lazydp {

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

ModelShape shape_on_card(const Json& card) {
  try {
    ModelShape shape = shape_from(card.at("model"));
    shape.validate();
    return shape;
  } catch (const Json::exception& error) {
    throw UserError(std::string("the card's model cannot be read: ") + error.what());
  }
}

ScoreScaling score_scaling_on_card(const Json& card) {
  const Json::json_pointer where("/model/score_scaling");
  if (!card.contains(where)) return {};
  try {
    return score_scaling_from(card[where]);
  } catch (const Json::exception& error) {
    throw UserError(std::string("the card's score_scaling cannot be read: ") + error.what());
  }
}

}  // namespace lazydp
