#pragma once
// The plan of a private search: its candidates, the noise of each, and what the search will cost.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lazydp/cli/flags.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/privacy/private_selection.h"
#include "lazydp/train/noisy_score.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

struct Candidate {
  FlagTexts given;     // flags of the equivalent `lazydp train`, with its noise multiplier
  std::string chosen;  // what the grid says of it: " --lr 1 --batch 64"
  double noise_multiplier = 0.0;
};

// Everything here is public: it is computed from flags, the grid and the sizes of the data.
struct SearchPlan {
  std::vector<Candidate> candidates;
  PrivateSearch search;
  ScoreMechanism score;
  std::uint64_t scored = 0;        // validation units
  std::string unit;                // "examples" or "units"
  Budget budget;                   // of the whole search
  double epsilon = 0.0;            // what the search costs, within the budget
  double candidate_epsilon = 0.0;  // what training one candidate costs
  Json settings;                   // must stay equal for a search to go on
};

// Chooses the noise of every candidate such that all of them cost the same epsilon, and the whole
// search no more than --epsilon. Throws UserError for flags or a grid that cannot be searched,
// PrivacyError for a candidate for which nothing could be claimed.
SearchPlan plan_search(const FlagTexts& given);

// Returns the privacy units of the part on which candidates are scored; null if each example is
// one.
std::shared_ptr<const PrivacyUnits> validation_units(const TrainingFile& file,
                                                     const FlagTexts& flags);

}  // namespace lazydp::cli
