#pragma once
// The block of steps of a `lazydp privacy` command: examples that come in the order of the data or
// in bins, and noise that is correlated over the steps.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "lazydp/base/text/json.h"
#include "lazydp/cli/flags.h"
#include "lazydp/privacy/ledger.h"

namespace lazydp::cli {

// Returns the text of a flag. Throws UserError, with an example, if it is missing.
const std::string& needed(const Text& text, const char* flag, const char* example);
// Throws UserError if a flag gives what is asked for.
void refuse_answer(const Text& text, const char* flag);
// Returns --examples.
std::uint64_t choose_examples(const FlagTexts& given);

// Returns how the block chooses its examples; nothing for Poisson sampling, which has no block.
// Throws UserError for flags that do not go together.
std::optional<BlockSampling> choose_block_sampling(const FlagTexts& given);

enum class Asked : std::uint8_t { steps, other };

// Returns the block without its noise, and its steps: 0 if they are asked for.
std::pair<CorrelatedGaussian, std::uint64_t> choose_block(const FlagTexts& given,
                                                          BlockSampling sampling, Asked asked);

// Describe a block with this noise whose first `steps` steps are taken.
Json json_of_block(const CorrelatedGaussian& block, double noise_multiplier, std::uint64_t steps);
std::string block_in_words(const CorrelatedGaussian& block, double noise_multiplier,
                           std::uint64_t steps);

}  // namespace lazydp::cli
