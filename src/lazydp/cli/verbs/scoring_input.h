#pragma once
// The input of verbs that score: a released model, and examples that fit it.

#include <memory>
#include <string>

#include "lazydp/cli/flags.h"
#include "lazydp/data/dataset.h"
#include "lazydp/data/schema.h"
#include "lazydp/model/shape.h"
#include "lazydp/release/loaded_model.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

// Returns the folder of a released model, given it or the folder of a run that has released one.
// Throws UserError if there is none.
std::string folder_of_model(const std::string& given);

struct OpenedModel {
  std::string folder;  // folder of the model
  Json card;           // verified
  ModelShape shape;
  ScoreScaling scaling;
  std::unique_ptr<LoadedModel> model;

  // Returns the schema on the card. Throws UserError for a model of a synthetic task, which has
  // none.
  Schema schema() const;
};

// Opens a released model: its folder, or that of a run that has released one. Throws UserError if
// there is none, or the memory that is missing; PrivacyError for a model that was edited.
OpenedModel open_model(const std::string& given);

struct Scored : OpenedModel {
  std::shared_ptr<const Dataset> data;
  std::string data_in_words;
  std::string group_by;  // empty: nothing is grouped
  GroupOf group_of;
};

// Opens the operands: the folder of a model, or of a run that has released one, and a data file, of
// which --test takes only the part that training would hold out. Throws UserError that names the
// column if data and model do not match, or the memory that is missing; PrivacyError for a model
// that was edited.
Scored choose_scored(const FlagTexts& given);

}  // namespace lazydp::cli
