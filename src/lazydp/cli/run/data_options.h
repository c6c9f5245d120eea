#pragma once
// Which data: what the flags say of a data file, and the synthetic task that goes with a model.

#include <memory>
#include <optional>

#include "lazydp/cli/flags.h"
#include "lazydp/data/training_data.h"
#include "lazydp/model/shape.h"

namespace lazydp::cli {

// Nothing if no --data is given. Opens nothing. Throws UserError for flags that do not go together
// and shares that leave no examples to train on.
std::optional<TrainingFileOptions> choose_data_file(const FlagTexts& given);

// The file, if there is one. Else the click task for the model `small`, if it still fits; look-ups
// to be timed for all others. Throws UserError for a task that the model cannot take.
DataSource choose_source(const FlagTexts& given, const ModelChoice& model,
                         std::shared_ptr<const TrainingFile> file = nullptr);

}  // namespace lazydp::cli
