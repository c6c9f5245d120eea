#include "lazydp/cli/verbs/scoring_input.h"

#include <filesystem>

#include "lazydp/base/error.h"
#include "lazydp/base/memory.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/options/model_and_data_options.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/data/schema_json.h"
#include "lazydp/data/training_data.h"
#include "lazydp/release/card.h"
#include "lazydp/train/memory_needs.h"

namespace lazydp::cli {

std::string folder_of_model(const std::string& given) {
  std::error_code ignored;
  for (const std::string& folder : {given, given + "/model"}) {
    if (std::filesystem::exists(folder + kCard, ignored)) return folder;
  }
  throw UserError("'" + given +
                  "' is neither a released model nor a run that has one (no card.json there); "
                  "lazydp release makes one of a run");
}

namespace {

// Returns how the sizes differ. A model of a synthetic task has no schema: its tables and features
// must match in number and size.
std::string difference_of_sizes(const ModelShape& shape, const DataFile& data) {
  if (shape.dense_features() != data.dense_features()) {
    return "it has " + std::to_string(data.dense_features()) + " dense features, expected " +
           std::to_string(shape.dense_features());
  }
  const auto columns = data.schema().tables();
  for (std::size_t k = 0; k < columns.size(); ++k) {
    if (k < shape.tables() && columns[k]->rows <= static_cast<std::uint64_t>(shape.table_rows[k])) {
      continue;
    }
    return "column '" + columns[k]->name + "' has " + std::to_string(columns[k]->rows) +
           " rows, expected " +
           (k < shape.tables() ? "at most " + std::to_string(shape.table_rows[k]) : "no column");
  }
  if (columns.size() < shape.tables()) {
    return "it has " + std::to_string(columns.size()) + " categorical columns, expected " +
           std::to_string(shape.tables());
  }
  return "";
}

void require_match(const Json& card, const ModelShape& shape, const std::string& folder,
                   const DataFile& data) {
  const Json::json_pointer schema("/data/schema");
  std::string what = card.contains(schema) ? first_difference(card[schema], json_of(data.schema()))
                                           : std::string();
  if (what.empty()) what = difference_of_sizes(shape, data);
  if (what.empty()) return;
  throw UserError("'" + data.path() + "' does not go with the model in '" + folder + "': " + what);
}

// Throws UserError if the share would mean something else: a model of an earlier version may have
// been trained on examples that are held out now.
void require_hashed_positions(const FlagTexts& given, const Json& card) {
  const bool of_a_file = card.contains(Json::json_pointer("/data/schema"));
  const bool share =
      given.test && number(*given.test) && given.split_by.value_or("position") == "position";
  if (!share || !of_a_file || card.contains(Json::json_pointer("/data/split"))) return;
  throw UserError("test is '" + *given.test +
                  "', but the model is of an earlier version, which held out the last examples of "
                  "its data and may have been trained on these; give the examples to score as a "
                  "file of their own");
}

// Chooses the part that is held out under these flags, or all of the file.
void choose_part(const FlagTexts& given, Scored& scored) {
  FlagTexts asked = given;
  asked.data = given.operands[1];
  if (!given.test) {
    asked.test = "0";
    if (given.split_by) throw UserError("split-by is given, but no test share; it needs --test");
  }
  const auto choice = open_training_file(*choose_data_file(asked));
  scored.data = given.test ? choice->test : std::shared_ptr<const Dataset>(choice->file);
  if (!scored.data || scored.data->size() == 0) {
    throw UserError("test is '" + given.test.value_or("") + "', which leaves no examples to score");
  }
  scored.group_by = choice->group_by.value_or("");
  scored.group_of = given.test ? choice->test_group : choice->file_group;
  scored.data_in_words = given.operands[1] + (given.test ? ", split " + choice->split : "");
}

}  // namespace

namespace {

OpenedModel read_card(const std::string& given) {
  OpenedModel opened;
  opened.folder = folder_of_model(given);
  opened.card = verified_card(opened.folder);
  opened.shape = shape_on_card(opened.card);
  opened.scaling = score_scaling_on_card(opened.card);
  return opened;
}

void read_weights(OpenedModel& opened) {
  constexpr std::uint64_t kBatch = 4096;
  require_memory(memory_needs(opened.shape, {}, {}, {}, kBatch, 1, 0.0), available_memory());
  opened.model = std::make_unique<LoadedModel>(opened.folder, opened.shape, opened.scaling);
}

}  // namespace

Schema OpenedModel::schema() const {
  const Json::json_pointer where("/data/schema");
  if (!card.contains(where)) {
    throw UserError("the model in '" + folder +
                    "' was trained on a synthetic task: its card has no schema, so that nothing "
                    "says how a text becomes its input; give it a data file");
  }
  return schema_from(card[where]);
}

OpenedModel open_model(const std::string& given) {
  OpenedModel opened = read_card(given);
  read_weights(opened);
  return opened;
}

Scored choose_scored(const FlagTexts& given) {
  Scored scored{read_card(given.operands[0]), {}, {}, {}, {}};
  require_match(scored.card, scored.shape, scored.folder, DataFile(given.operands[1]));
  require_hashed_positions(given, scored.card);
  choose_part(given, scored);
  read_weights(scored);
  return scored;
}

}  // namespace lazydp::cli
