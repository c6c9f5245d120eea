#include "lazydp/release/initial_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>

#include "lazydp/base/error.h"
#include "lazydp/base/io/mapped_file.h"
#include "lazydp/checkpoint/sections.h"
#include "lazydp/data/schema_json.h"
#include "lazydp/export/export_weights.h"
#include "lazydp/model/model.h"
#include "lazydp/privacy/ledger_json.h"
#include "lazydp/release/card.h"
#include "lazydp/release/loaded_model.h"

namespace lazydp {
namespace {

namespace fs = std::filesystem;

// Returns the folder that holds the released model: the path itself, the folder of its weights'
// file, or model/ of a run. Empty if there is no card.
std::string folder_of(const std::string& path) {
  const std::string beside = fs::path(path).parent_path().string();
  for (const std::string& folder :
       {path, path + "/model", beside.empty() ? std::string(".") : beside}) {
    std::error_code ignored;
    if (!fs::exists(folder + kCard, ignored)) continue;
    const bool its_own =
        fs::is_directory(path, ignored) || fs::equivalent(path, folder + kWeights, ignored);
    if (its_own) return folder;
  }
  return "";
}

std::string file_of(const std::string& path) {
  const std::string folder = folder_of(path);
  if (!folder.empty()) return folder + kWeights;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  if (fs::exists(path + kWeights, ignored)) return path + kWeights;
  throw UserError("init is '" + path +
                  "', which is neither a released model, nor a run that has one, nor a file of "
                  "weights (no model.safetensors there)");
}

// Returns the card inside a file of weights, which says what the weights are but, without the
// card beside it, not that nobody edited them. Null if there is none.
Json card_inside(const SafetensorsFile& weights) {
  const auto inside = weights.metadata().find(kCardInWeights);
  if (inside == weights.metadata().end()) return nullptr;
  const Json card = Json::parse(inside->second, nullptr, /*allow_exceptions=*/false);
  return card.is_object() ? card : Json();
}

InitialModel on_card(const Json& card) {
  InitialModel model;
  try {
    const Json& claim = card.at("claim");
    if (!claim.contains("epsilon")) {
      model.no_claim = claim.at("reason").get<std::string>();
    } else if (claim.contains("search")) {
      model.no_claim =
          "its epsilon pays for a private search, and its ledger, which would have to be added to, "
          "for one training";
    } else {
      model.unit = claim.at("unit").get<std::string>();
      model.epsilon = claim.at("epsilon").get<double>();
      model.delta = claim.at("delta").get<double>();
      model.spent = ledger_from(card.at("ledger"));
    }
  } catch (const Json::exception& error) {
    throw UserError(std::string("the card of the initial model cannot be read: ") + error.what());
  }
  return model;
}

std::string extents(const std::vector<std::size_t>& shape) {
  std::string text;
  for (const std::size_t extent : shape) {
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  }
  return text;
}

// Collects the differences between a file's tensors and those of a model of this shape.
std::vector<std::string> differences_of_tensors(const SafetensorsFile& file,
                                                const ModelShape& shape) {
  std::vector<std::string> found;
  std::set<std::string> known;
  const auto compare = [&](const std::string& name, const std::vector<std::size_t>& here) {
    known.insert(name);
    const SafetensorsFile::Tensor* const there = file.find(name);
    if (there == nullptr) {
      found.push_back("it has no " + name + ", which is " + extents(here) + " here");
    } else if (there->shape != here) {
      found.push_back(name + " is " + extents(there->shape) + " in it and " + extents(here) +
                      " here");
    }
  };
  for (std::size_t k = 0; k < shape.tables(); ++k) {
    compare(table_name(k), {static_cast<std::size_t>(shape.table_rows[k]), shape.dim});
  }
  for (const NamedTensor& tensor : make_model(shape)->layout()) compare(tensor.name, tensor.shape);
  for (const SafetensorsFile::Tensor& tensor : file.tensors()) {
    if (!known.contains(tensor.name)) {
      found.push_back("it has " + tensor.name + ", which the model here has not");
    }
  }
  return found;
}

std::string difference_of_rows(const Json& card, const Schema* schema) {
  const Json::json_pointer its_schema("/data/schema");
  if (!card.contains(its_schema)) {
    return schema == nullptr ? "" : "its rows are those of made-up data, not of these columns";
  }
  if (schema == nullptr) return "its rows are those of a log's columns, not of made-up data";
  return first_difference(card[its_schema], json_of(*schema));
}

// The parts of a shape that no tensor shows.
std::vector<std::string> differences_of_forms(const ModelShape& there, const ModelShape& here) {
  std::vector<std::string> found;
  if (there.interaction != here.interaction) {
    found.push_back("its interaction is " + std::string(interaction_name(there.interaction)) +
                    " and here " + std::string(interaction_name(here.interaction)));
  }
  if (there.mode != here.mode) found.emplace_back("it pools bags in another way (pooling-mode)");
  return found;
}

}  // namespace

InitialWeights::InitialWeights(const std::string& path, Provenance provenance)
    : path_(path), weights_(file_of(path)) {
  const std::string folder = folder_of(path);
  card_ = folder.empty() ? card_inside(weights_) : verified_card(folder);
  if (provenance == Provenance::declared_public) {
    model_.declared_public = true;
  } else if (folder.empty()) {
    throw PrivacyError("init is '" + path +
                       "', weights without a card.json beside them: nothing says what they reveal "
                       "of the data they were trained on; if they are public, say so with "
                       "--init-is-public");
  } else {
    model_ = on_card(card_);
  }
  model_.blake2b =
      folder.empty() ? weights_.digest() : card_.at("weights").at("blake2b_256").get<std::string>();
  look_at_values();
}

std::optional<ModelShape> InitialWeights::shape() const {
  if (!card_.is_object()) return std::nullopt;
  return shape_on_card(card_);
}

// Reads all values once.
void InitialWeights::look_at_values() {
  const MappedFile file(weights_.path(), MappedFile::Access::sequential);
  for (const SafetensorsFile::Tensor& tensor : weights_.tensors()) {
    if (tensor.type != SafetensorsFile::Type::f32) {
      throw UserError("init is '" + path_ + "', where " + tensor.name +
                      " has eight bits a weight; begin with the model that it was made of");
    }
    const bool of_a_table = tensor.name.starts_with("tables.");
    bool finite = true;
    for (std::uint64_t at = tensor.begin; at < tensor.end; at += sizeof(float)) {
      float value = 0.0f;
      std::memcpy(&value, file.bytes().data() + at, sizeof(value));
      finite = finite && std::isfinite(value);
      if (of_a_table) largest_ = std::max(largest_, std::abs(value));
    }
    if (!finite) {
      throw UserError("init is '" + path_ + "', where " + tensor.name +
                      " has values that are not finite");
    }
  }
}

void InitialWeights::require_fits(const ModelShape& shape, const Schema* schema) const {
  std::vector<std::string> found = differences_of_tensors(weights_, shape);
  if (const auto there = this->shape()) {
    for (std::string& line : differences_of_forms(*there, shape)) found.push_back(std::move(line));
    const std::string rows = difference_of_rows(card_, schema);
    if (!rows.empty()) found.push_back(rows);
  }
  if (found.empty()) return;
  std::string text;
  for (const std::string& line : found) text += (text.empty() ? "" : "; ") + line;
  throw UserError("init is '" + path_ + "', which does not fit this run's model: " + text);
}

void InitialWeights::load(ModelAndTables& model, const std::string& rows_file) const {
  const std::span<float> dense = model.model->parameters();
  for (const NamedTensor& tensor : model.model->layout()) {
    weights_.read(tensor.name, dense.subspan(tensor.first_parameter, tensor.size()));
  }
  if (model.files) {
    model.files->start(rows_of_file(rows_file, {.name = rows_file, .blake2b = model_.blake2b}));
  }
  for (Table& table : model.in_memory) {
    const SafetensorsFile::Tensor* const there = weights_.find(table_name(table.id()));
    check(there != nullptr, "the weights were found to fit");
    weights_.read_part(*there, static_cast<std::uint64_t>(table.first_row()) * table.dim(),
                       {table.weights(), table.bytes() / sizeof(float)});
  }
}

}  // namespace lazydp
