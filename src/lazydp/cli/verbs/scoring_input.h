#pragma once
// What eval and predict work on: a released model, and examples that fit it.

#include <memory>
#include <string>

#include "lazydp/cli/flags.h"
#include "lazydp/data/dataset.h"
#include "lazydp/release/loaded_model.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

struct Scored {
  std::string folder;  // of the model
  Json card;           // verified
  std::shared_ptr<const Dataset> data;
  std::string data_in_words;
  std::unique_ptr<LoadedModel> model;
};

// The operands are a model's folder, or that of a run that has released one, and a data file; of
// that --test takes only the part that training would hold out. UserError that names the column if
// data and model do not go together, or the memory that is missing; PrivacyError for a model that
// was edited.
Scored choose_scored(const FlagTexts& given);

}  // namespace lazydp::cli
