#pragma once
// The input of eval and predict: a released model, and examples that fit it.

#include <memory>
#include <string>

#include "lazydp/cli/flags.h"
#include "lazydp/data/dataset.h"
#include "lazydp/release/loaded_model.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

struct Scored {
  std::string folder;  // folder of the model
  Json card;           // verified
  std::shared_ptr<const Dataset> data;
  std::string data_in_words;
  std::string group_by;  // empty: nothing is grouped
  GroupOf group_of;
  std::unique_ptr<LoadedModel> model;
};

// Opens the operands: the folder of a model, or of a run that has released one, and a data file, of
// which --test takes only the part that training would hold out. Throws UserError that names the
// column if data and model do not match, or the memory that is missing; PrivacyError for a model
// that was edited.
Scored choose_scored(const FlagTexts& given);

}  // namespace lazydp::cli
