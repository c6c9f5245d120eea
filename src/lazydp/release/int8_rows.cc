#include "lazydp/release/int8_rows.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "lazydp/base/error.h"
#include "lazydp/base/io/folder.h"
#include "lazydp/base/parallel.h"
#include "lazydp/export/export_weights.h"
#include "lazydp/release/card.h"
#include "lazydp/release/loaded_model.h"

namespace lazydp {
namespace {

constexpr float kLargest = 127.0f;
constexpr std::size_t kRowsOfATask = 4096;

void round_row(std::span<const float> row, std::span<std::int8_t> values, float& scale) {
  float most = 0.0f;
  bool finite = true;
  for (const float w : row) {
    most = std::max(most, std::abs(w));
    finite = finite && std::isfinite(w);
  }
  scale = finite ? most / kLargest : std::nanf("");
  if (!(scale > 0.0f)) {  // all zero, or what is not finite
    std::ranges::fill(values, static_cast<std::int8_t>(finite ? 0 : 1));
    return;
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    const float rounded = std::nearbyint(row[i] / scale);
    values[i] = static_cast<std::int8_t>(std::clamp(rounded, -kLargest, kLargest));
  }
}

std::uint64_t size_of(const std::string& folder) {
  return std::filesystem::file_size(folder + kWeights);
}

void require_new(const std::string& folder) {
  if (!exists(folder) || holds_nothing(folder, "card.json.")) return;
  throw UserError("'" + folder + "' holds something; name a new folder");
}

}  // namespace

Int8Rows int8_rows(std::span<const float> weights, std::size_t dim) {
  Int8Rows rows = {std::vector<std::int8_t>(weights.size()),
                   std::vector<float>(weights.size() / dim)};
  parallel_blocks(rows.scales.size(), kRowsOfATask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      round_row(weights.subspan(r * dim, dim), std::span(rows.values).subspan(r * dim, dim),
                rows.scales[r]);
    }
  });
  return rows;
}

void scale_rows(std::span<const std::int8_t> values, std::span<const float> scales,
                std::span<float> weights) {
  const std::size_t dim = weights.size() / scales.size();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = scales[i / dim] * static_cast<float>(values[i]);
  }
}

Int8Sizes write_with_int8_rows(const std::string& model, const std::string& out) {
  Json card = verified_card(model);
  if (has_int8_rows(card)) throw UserError(model + " has its rows in eight bits already");
  require_new(out);
  const LoadedModel loaded(model, shape_on_card(card));
  card["rows"] = {{"type", "int8"}, {"rounded_from", card.at("weights").at("blake2b_256")}};
  card.erase("weights");

  std::vector<TensorSource> tensors = loaded.dense_weights();
  std::vector<Int8Rows> tables;
  for (std::size_t k = 0; k < loaded.shape().tables(); ++k) {
    const Table& table = loaded.table(k);
    tables.push_back(int8_rows({table.weights(), table.bytes() / sizeof(float)}, table.dim()));
  }
  for (std::size_t k = 0; k < tables.size(); ++k) {
    const std::size_t rows = tables[k].scales.size();
    tensors.push_back({.name = table_name(k),
                       .shape = {rows, loaded.shape().dim},
                       .small_values = tables[k].values});
    tensors.push_back({.name = scale_name(k), .shape = {rows}, .values = tables[k].scales});
  }
  make_folder(out, kReadableFolder);
  write_card(out, card, write_safetensors(out + kWeights, tensors, metadata_of(card)));
  return {.bytes_before = size_of(model), .bytes_after = size_of(out)};
}

}  // namespace lazydp
