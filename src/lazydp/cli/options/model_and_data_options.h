#pragma once
// Chooses the data: a data file by its flags, or the synthetic task that goes with a model.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lazydp/cli/flags.h"
#include "lazydp/data/training_data.h"
#include "lazydp/model/shape.h"

namespace lazydp::cli {

// Chooses the model: one by name and scale, with any of its sizes replaced.

// Parses 1000,2000 or 26x10000 or both in one list: 2x1000,500. Throws UserError for any other
// text.
std::vector<RowId> parse_rows(const std::string& text);

// With a data file the tables and the dense features are those of its schema, and unless a model is
// named the rest is small: dim 16, one hidden layer of 64; or as that of the initial model, if the
// run has one. Throws UserError unless such a model can be built.
ModelChoice choose_model(const FlagTexts& given, const TrainingFile* data = nullptr,
                         const std::optional<ModelShape>& initial = {});

// Returns nothing if no --data is given. Opens no file. Throws UserError for flags that do not go
// together and shares that leave no examples to train on.
std::optional<TrainingFileOptions> choose_data_file(const FlagTexts& given);

// Returns the file, if there is one; else the click task for the model `small`, if it still fits;
// look-ups to be timed for all others. Throws UserError for a task that the model cannot take.
DataSource choose_source(const FlagTexts& given, const ModelChoice& model,
                         std::shared_ptr<const TrainingFile> file = nullptr);

// Returns how many of the best-scored examples of a group ranking metrics look at. Throws UserError
// if it is given but nothing is grouped.
std::uint64_t choose_cutoff(const FlagTexts& given, bool grouped);

}  // namespace lazydp::cli
