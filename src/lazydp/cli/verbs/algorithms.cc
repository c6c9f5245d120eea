// lazydp algorithms: prints the table of the seven algorithms.

#include <iomanip>
#include <iostream>
#include <string_view>

#include "lazydp/base/error.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/train/recipe.h"

namespace lazydp::cli {
namespace {

std::string_view in_words(ClipMethod clip) {
  switch (clip) {
    case ClipMethod::none: return "none";
    case ClipMethod::materialize: return "every gradient in full";
    case ClipMethod::reweight: return "layer norms, second pass";
    case ClipMethod::ghost: return "ghost norms, one pass";
  }
  throw InternalError("unknown ClipMethod");
}

}  // namespace

void algorithms(const FlagTexts& /*given*/) {
  const auto line = [](std::string_view name, std::string_view clip, std::string_view noise,
                       std::string_view claim) {
    std::cout << std::left << std::setw(15) << name << std::setw(26) << clip << std::setw(24)
              << noise << claim << "\n";
  };
  line("algorithm", "clipping", "noise on tables", "claim");
  for (const Recipe& recipe : kRecipes) {
    line(recipe.name, in_words(recipe.clip), traits_of(recipe.noise).in_words,
         recipe.no_claim.empty() ? "epsilon, delta" : "none: " + std::string(recipe.no_claim));
  }
}

}  // namespace lazydp::cli
