// Writes a released model again, with its rows in eight bits.

#include <filesystem>

#include "lazydp/base/error.h"
#include "lazydp/base/io/folder.h"
#include "lazydp/export/export_weights.h"
#include "lazydp/release/card.h"
#include "lazydp/release/int8_rows.h"
#include "lazydp/release/loaded_model.h"

namespace lazydp {
namespace {

std::uint64_t size_of(const std::string& folder) {
  return std::filesystem::file_size(folder + kWeights);
}

void require_new(const std::string& folder) {
  if (!exists(folder) || holds_nothing(folder, "card.json.")) return;
  throw UserError("'" + folder + "' holds something; name a new folder");
}

}  // namespace

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
