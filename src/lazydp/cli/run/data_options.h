#pragma once
// Chooses the data: a data file by its flags, or the synthetic task that goes with a model.

#include <memory>
#include <optional>

#include "lazydp/cli/flags.h"
#include "lazydp/data/training_data.h"
#include "lazydp/model/shape.h"

namespace lazydp::cli {

// Returns nothing if no --data is given. Opens no file. Throws UserError for flags that do not go
// together and shares that leave no examples to train on.
std::optional<TrainingFileOptions> choose_data_file(const FlagTexts& given);

// Returns the file, if there is one; else the click task for the model `small`, if it still fits;
// look-ups to be timed for all others. Throws UserError for a task that the model cannot take.
DataSource choose_source(const FlagTexts& given, const ModelChoice& model,
                         std::shared_ptr<const TrainingFile> file = nullptr);

}  // namespace lazydp::cli
