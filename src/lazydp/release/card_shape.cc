// The shape on a card, and weights that have it.

#include <cstdint>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/export/export_weights.h"
#include "lazydp/release/card.h"
#include "lazydp/release/int8_rows.h"

namespace lazydp {

SafetensorsFile weights_of(const std::string& folder, const ModelShape& shape) {
  SafetensorsFile file(folder + kWeights);
  std::uint64_t bytes = 0;
  for (const SafetensorsFile::Tensor& tensor : file.tensors()) bytes += tensor.end - tensor.begin;
  std::uint64_t wanted = shape.parameters() * sizeof(float) + shape.table_bytes();
  if (file.find(scale_name(0)) != nullptr) {  // a byte for each weight, and a scale for each row
    wanted -= shape.table_bytes() / sizeof(float) * (sizeof(float) - 1);
    wanted += shape.total_rows() * sizeof(float);
  }
  if (bytes != wanted) {
    throw UserError(folder + ": the card speaks of " + std::to_string(wanted) +
                    " bytes of weights, the file has " + std::to_string(bytes));
  }
  return file;
}

void read_table(const SafetensorsFile& file, std::size_t table, std::span<float> weights,
                std::size_t dim) {
  if (file.find(scale_name(table)) == nullptr) return file.read(table_name(table), weights);
  std::vector<std::int8_t> values(weights.size());
  std::vector<float> scales(weights.size() / dim);
  file.read(table_name(table), values);
  file.read(scale_name(table), scales);
  scale_rows(values, scales, weights);
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
