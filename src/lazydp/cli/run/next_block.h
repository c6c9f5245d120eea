#pragma once
// What a run that goes on makes of data in its order: where in it the next step is, and whether
// what comes is a block of its own.

#include "lazydp/checkpoint/checkpoint_header.h"
#include "lazydp/cli/flags.h"
#include "lazydp/cli/options/run_options.h"

namespace lazydp::cli {

// Returns the step before the one that took the first places of the state's data.
Step step_before_data(const CheckpointHead& head);

// Places a stream where it was, or at its beginning if it takes other data, or more or less of it
// at a time.
void place_in_stream(const CheckpointHead& head, RunOptions& options);

// Sets, for a run that begins a block, whether that is declared to share no example with others. A
// block is declared disjoint when it begins: what was said of the one before does not count. Throws
// PrivacyError if `given` declares it of the data that the run was trained on before.
void declare_new_block(const CheckpointHead& head, const FlagTexts& given, RunOptions& options,
                       FlagTexts& wanted);

}  // namespace lazydp::cli
