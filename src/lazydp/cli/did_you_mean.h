#pragma once
// The name that somebody who mistyped may have meant.

#include <span>
#include <string_view>

namespace lazydp::cli {

// The one of `names` with the fewest slips (a letter added, lost, changed, or two swapped) from
// `typed`; empty when even that has too many to be a slip.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> names);

}  // namespace lazydp::cli
