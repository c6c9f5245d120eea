#pragma once
// Chooses what a run uses of the machine: threads, kernels, the folder of tables in files, and the
// seed of its randomness. None of it changes what may be claimed, except for a fixed seed.

#include <cstdint>
#include <optional>
#include <string>

#include "lazydp/cli/flags.h"
#include "lazydp/train/plan.h"

namespace lazydp::cli {

Performance choose_performance(const FlagTexts& given);

// Returns the folder of tables in files; none: in memory.
std::optional<std::string> choose_table_folder(const FlagTexts& given);

// Returns the flags with an absolute table folder: they mean the same folder wherever they are read
// again.
FlagTexts with_table_folder_in_full(FlagTexts given);

// Throws UserError if `recipe` needs tables that are in memory.
void require_trainable_there(const Recipe& recipe, const std::optional<std::string>& folder);

unsigned choose_normals_per_sample(const FlagTexts& given);

// Sets the number of threads of this process, if one is given.
void choose_threads(const FlagTexts& given);

std::optional<std::uint64_t> choose_seed(const FlagTexts& given);

}  // namespace lazydp::cli
