#pragma once
// The verdict of an audit in words, the same for all kinds.

#include <cstdint>
#include <optional>
#include <string>

#include "lazydp/audit/audit.h"

namespace lazydp::cli {

// Returns a verdict's name in JSON.
std::string_view verdict_name(Verdict verdict);

// Returns the finding about an algorithm whose noise is that of `stated_epsilon`. `needed` is how
// many `things` (runs, canaries) would have detected half the noise; none: more than are possible.
std::string verdict_in_words(Verdict verdict, const Recipe& recipe, double stated_epsilon,
                             const std::string& things, std::optional<std::uint64_t> needed);

// Throws PrivacyError if a claim was broken.
void require_unbroken(Verdict verdict, const Recipe& recipe);

}  // namespace lazydp::cli
