#pragma once
// The names of the synthetic data sets, as --synthetic takes them.

#include <string_view>
#include <variant>

#include "lazydp/data/synthetic/click_truth.h"
#include "lazydp/data/synthetic/timing_dataset.h"

namespace lazydp {

// A task that can be learned, or accesses to be timed.
using Synthetic = std::variant<ClickSize, AccessLaw>;

// `click`, `click:large`, `uniform`, `zipf:EXPONENT`, or `skew:36`, `skew:10`, `skew:0.6`: the
// share of the rows, in percent, that gets 90 % of the look-ups (in a table of 40 million rows, the
// paper's largest). Anything else is a UserError.
Synthetic parse_synthetic(std::string_view name);

}  // namespace lazydp
