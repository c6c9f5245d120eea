#pragma once
// The weights that a run begins with, and those of them that it keeps.

#include <memory>

#include "lazydp/cli/flags.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/model/frozen_parts.h"
#include "lazydp/release/initial_weights.h"

namespace lazydp::cli {

// Opens the initial model; null if none is given.
std::shared_ptr<const InitialWeights> choose_initial_weights(const FlagTexts& given);

// Returns the parts that --freeze names. Throws UserError for a name that no part has, and if
// nothing is left to train.
FrozenParts choose_frozen(const FlagTexts& given, const RunOptions& options);

// Throws UserError unless the initial model's weights are those of the run's model, and
// PrivacyError if the run could claim nothing for what began with them.
void require_sound_beginning(const FlagTexts& given, const RunOptions& options);

// Returns what the run begins with, and what it keeps of that, for people; empty for random weights
// that all train.
std::string beginning_in_words(const RunOptions& options);

}  // namespace lazydp::cli
