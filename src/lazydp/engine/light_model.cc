#include "lazydp/engine/light_model.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/data/schema_json.h"
#include "lazydp/export/safetensors.h"
#include "lazydp/kernels/vector.h"
#include "lazydp/release/card.h"

namespace lazydp {
namespace {

Schema schema_on_card(const Json& card) {
  const Json::json_pointer where("/data/schema");
  if (!card.contains(where)) {
    throw UserError(
        "the model was trained on a synthetic task: its card has no schema, so that nothing says "
        "how a value becomes its input");
  }
  return schema_from(card[where]);
}

// nn.Sequential also counts the ReLU after every layer.
void read_layers(const SafetensorsFile& file, const std::string& stack,
                 std::span<const LayerShape> layers, std::span<float> parameters) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const LayerShape& layer = layers[i];
    const std::string name = stack + "." + std::to_string(2 * i);
    file.read(name + ".weight", parameters.subspan(layer.first_parameter, layer.in * layer.out));
    file.read(name + ".bias", parameters.subspan(layer.first_bias(), layer.out));
  }
}

}  // namespace

LightModel::LightModel(const std::string& folder) {
  const Json card = verified_card(folder);
  shape_ = shape_on_card(card);
  scaling_ = score_scaling_on_card(card);
  encoder_ = std::make_unique<ExampleEncoder>(schema_on_card(card));
  bottom_ = shape_.bottom_layers();
  top_ = shape_.top_layers();
  const SafetensorsFile file = weights_of(folder, shape_);
  parameters_.resize(shape_.parameters());
  read_layers(file, "bottom", bottom_, parameters_);
  read_layers(file, "top", top_, parameters_);
  tables_.reserve(shape_.tables());
  for (std::size_t k = 0; k < shape_.tables(); ++k) {
    Table& table = tables_.emplace_back(static_cast<TableId>(k), shape_.table_rows[k], shape_.dim);
    read_table(file, k, {table.weights(), table.bytes() / sizeof(float)}, shape_.dim);
  }
}

std::vector<double> LightModel::score(std::span<const char* const> columns,
                                      std::span<const char* const> values) {
  const Batch batch = encode(columns, values);
  if (batch.bags.size() != tables_.size() || batch.dense.cols() != shape_.dense_features()) {
    throw UserError("the schema on the card is not that of its model");
  }
  std::vector<Matrix> pooled;
  for (std::size_t k = 0; k < tables_.size(); ++k) {
    pooled.emplace_back(batch.size, shape_.dim);
    pool(tables_[k], batch.bags[k], shape_.mode, 0, batch.size, pooled.back().view());
  }
  std::vector<double> scores;
  for (std::size_t i = 0; i < batch.size; ++i) {
    scores.push_back(1.0 / (1.0 + std::exp(-static_cast<double>(logit(batch, i, pooled)))));
  }
  return scores;
}

Batch LightModel::encode(std::span<const char* const> columns,
                         std::span<const char* const> values) {
  const std::vector<Column>& of_schema = encoder_->schema().columns;
  std::vector<std::size_t> places(of_schema.size(), columns.size());
  for (std::size_t c = 0; c < of_schema.size(); ++c) {
    if (!is_read(of_schema[c].role)) continue;
    const auto found = std::ranges::find(columns, of_schema[c].name,
                                         [](const char* name) { return std::string_view(name); });
    if (found == columns.end()) {
      throw UserError("there is no column '" + of_schema[c].name + "', which the model reads");
    }
    places[c] = static_cast<std::size_t>(found - columns.begin());
  }
  const std::lock_guard one_at_a_time(encoding_);
  Batch batch;
  std::string why;
  std::vector<TextValue> example(of_schema.size());
  encoder_->take(batch);  // forgets what an example that was refused left behind
  for (std::size_t i = 0; i * columns.size() < values.size(); ++i) {
    for (std::size_t c = 0; c < of_schema.size(); ++c) {
      example[c].reset();
      if (places[c] == columns.size()) continue;
      const char* const text = values[i * columns.size() + places[c]];
      if (text != nullptr) example[c] = text;
    }
    if (!encoder_->add(example, why)) {
      throw UserError("example " + std::to_string(i) + ": " + why);
    }
  }
  encoder_->take(batch);
  return batch;
}

void LightModel::run(const LayerShape& layer, const std::vector<float>& input,
                     std::vector<float>& output) const {
  output.resize(layer.out);
  for (std::size_t o = 0; o < layer.out; ++o) {
    const float* const weights = parameters_.data() + layer.first_parameter + o * layer.in;
    output[o] = dot({weights, layer.in}, input) + parameters_[layer.first_bias() + o];
  }
}

float LightModel::logit(const Batch& batch, std::size_t example, std::span<Matrix> pooled) const {
  const auto relu = [](std::vector<float>& values) {
    for (float& value : values) value = value < 0.0f ? 0.0f : value;
  };
  const auto dense = batch.dense.row(example);
  std::vector<float> vectors(dense.begin(), dense.end());
  std::vector<float> next;
  for (const LayerShape& layer : bottom_) {
    run(layer, vectors, next);
    relu(next);
    vectors.swap(next);
  }
  float linear = 0.0f;
  for (Matrix& of_table : pooled) {
    const auto row = of_table.row(example);
    vectors.insert(vectors.end(), row.begin(), row.end());
    if (shape_.has_linear_term()) linear += row.front();
  }
  const std::size_t copied = shape_.interaction == Interaction::dot ? shape_.dim : vectors.size();
  std::vector<float> input(shape_.interaction_width());
  std::copy_n(vectors.begin(), copied, input.begin());
  pair_dots(vectors.data(), shape_.tables() + 1, shape_.dim, input.data() + copied);
  for (const LayerShape& layer : top_) {
    run(layer, input, next);
    if (&layer != &top_.back()) relu(next);
    input.swap(next);
  }
  return scaling_.of(input.front() + linear);
}

}  // namespace lazydp
