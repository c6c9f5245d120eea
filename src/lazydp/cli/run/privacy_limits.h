#pragma once
// Privacy parameters that promise next to nothing: refused, or remarked upon.

#include <cstdint>

#include "lazydp/cli/flags.h"
#include "lazydp/train/plan.h"

namespace lazydp::cli {

// A delta that is not below one in the number of examples (or units) allows one of them to be given
// away whole. Throws UserError for one, unless --force is given.
void require_small_delta(const FlagTexts& given, double delta, std::uint64_t examples);

// A line on standard error where epsilon is above 20: whatever the attacker sees may then be half a
// billion times as likely with somebody's data as without.
void warn_of_large_epsilon(double epsilon);

// The same of a run's budget, if it has one. The first rank speaks.
void warn_of_large_budget(const Plan& plan);

}  // namespace lazydp::cli
