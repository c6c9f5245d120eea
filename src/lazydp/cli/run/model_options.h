#pragma once
// Chooses the model: one by name and scale, with any of its sizes replaced.

#include <string>
#include <vector>

#include "lazydp/cli/flags.h"
#include "lazydp/data/training_file.h"
#include "lazydp/model/shape.h"

namespace lazydp::cli {

// Parses 1000,2000 or 26x10000 or both in one list: 2x1000,500. Throws UserError for any other
// text.
std::vector<RowId> parse_rows(const std::string& text);

// With a data file the tables and the dense features are those of its schema, and unless a model is
// named the rest is small: dim 16, one hidden layer of 64. Throws UserError unless such a model can
// be built.
ModelChoice choose_model(const FlagTexts& given, const TrainingFile* data = nullptr);

}  // namespace lazydp::cli
