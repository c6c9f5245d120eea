#pragma once
// The score of a candidate in a private search: how well it does on held-out units, with noise.

#include <cstdint>
#include <vector>

#include "lazydp/data/dataset.h"
#include "lazydp/data/privacy_units.h"
#include "lazydp/random/stream.h"
#include "lazydp/train/evaluation.h"

namespace lazydp {

// The held-out examples that every candidate is scored on.
struct ScoredPart {
  const Dataset& examples;
  const PrivacyUnits* units = nullptr;  // null: each example is a unit

  // Returns the number of units, which is treated as public.
  std::uint64_t size() const { return units != nullptr ? units->size() : examples.size(); }

  // Returns for how much each example counts: all those of a unit together count for one.
  std::vector<double> weights() const;
};

struct ScoreMechanism {
  double bound;             // no example's log-loss counts for more; public
  double noise_multiplier;  // std of the noise / sensitivity

  // Returns the most by which a unit that is added or removed moves the score of a part of `size`
  // units: the divisor is a public constant, which does not move with it.
  double sensitivity(std::uint64_t size) const { return bound / static_cast<double>(size); }
};

// Returns minus the sum over units of the mean log-loss of a unit's examples, divided by the public
// number of units. Every loss is clipped to [0, bound]; one that is not a number counts as `bound`.
double clipped_score(const Scorer& scorer, const ScoredPart& part, double bound);

// Returns the clipped score plus Gaussian noise, one normal of `random`.
double noisy_score(const Scorer& scorer, const ScoredPart& part, const ScoreMechanism& mechanism,
                   RandomStream& random);

}  // namespace lazydp
