#pragma once
// How examples come to the steps of a run: in which order, how many, how often; and how the noise
// of these steps is correlated.

#include "lazydp/cli/flags.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/train/defaults.h"

namespace lazydp::cli {

// Throws UserError unless at most one of two texts is given.
void refuse_both(const Text& a, const char* a_name, const Text& b, const char* b_name);

// Returns whether the flags ask to protect units of several examples.
bool protects_units(const FlagTexts& given);

// Chooses `run.sampling`, and with it the batch: run.batch, the plan's expected batch and sampling
// rate, and the places that a step of a stream takes.
void choose_sampling(const FlagTexts& given, const Defaults& defaults, RunOptions& run);

// Chooses the number of steps. Those of --more-steps and --more-epochs come after `taken` steps.
Step choose_steps(const FlagTexts& given, const Defaults& defaults, const RunOptions& run,
                  Step taken);

// Chooses, for a plan whose steps and table rule are known, how often examples or units take part,
// and how noise is correlated.
void choose_blocks(const FlagTexts& given, RunOptions& run);

// Returns the flags with what choose_blocks() chose.
FlagTexts with_blocks(FlagTexts given, const RunOptions& run);

}  // namespace lazydp::cli
