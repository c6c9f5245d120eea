#pragma once
// Refuses privacy parameters that promise next to nothing, or warns of them.

#include <cstdint>

#include "lazydp/cli/flags.h"
#include "lazydp/train/plan.h"

namespace lazydp::cli {

// A delta that is not below one in the number of examples (or units) allows one of them to be
// disclosed entirely. Throws UserError for such a delta, unless --force is given.
void require_small_delta(const FlagTexts& given, double delta, std::uint64_t examples);

// Prints a line on standard error if epsilon is above 20: anything the attacker sees may then be
// half a billion times as likely with a person's data as without.
void warn_of_large_epsilon(double epsilon);

// Warns in the same way of a run's budget, if it has one. Only the first rank prints.
void warn_of_large_budget(const Plan& plan);

}  // namespace lazydp::cli
