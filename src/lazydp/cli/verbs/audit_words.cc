#include "lazydp/cli/verbs/audit_words.h"

#include "lazydp/base/error.h"
#include "lazydp/base/text/number_text.h"

namespace lazydp::cli {

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::stands: return "stands";
    case Verdict::broken: return "broken";
    case Verdict::nothing: break;
  }
  return "nothing";
}

std::string verdict_in_words(Verdict verdict, const Recipe& recipe, double stated_epsilon,
                             const std::string& things, std::optional<std::uint64_t> needed) {
  const std::string stated = rounded_up(stated_epsilon, 4);
  const std::string silence =
      "this audit can say nothing: to catch half the noise it takes " +
      (needed ? "at least " + with_commas(static_cast<double>(*needed)) + " " + things
              : "more " + things + " than can be had");
  if (!recipe.no_claim.empty()) {
    return std::string(recipe.name) + " claims nothing, and its noise would suggest epsilon " +
           stated +
           (verdict == Verdict::broken    ? ": believing that would be wrong ("
            : verdict == Verdict::nothing ? "; " + silence + " ("
                                          : " (") +
           std::string(recipe.no_claim) + ")";
  }
  switch (verdict) {
    case Verdict::broken: return "BROKEN: the claim of epsilon " + stated + " is false";
    case Verdict::stands: return "the claim of epsilon " + stated + " stands";
    case Verdict::nothing: break;
  }
  return silence + "; epsilon " + stated + " is neither confirmed nor refuted";
}

void require_unbroken(Verdict verdict, const Recipe& recipe) {
  if (!recipe.no_claim.empty() || verdict != Verdict::broken) return;
  throw PrivacyError("the audit broke the claim of " + std::string(recipe.name) +
                     ": do not release models of this program");
}

}  // namespace lazydp::cli
