#pragma once
// Counts of a model's scores by label, and the scaling that fits them best.

#include <array>
#include <cstddef>
#include <span>

#include "lazydp/model/score_scaling.h"

namespace lazydp {

// How many examples have a logit near each of some fixed values, apart for each label. An example
// counts once, in one cell; the examples of a unit count for parts that add up to one.
class ScoreCounts {
 public:
  // Logits from -22 to 22 in bins whose edges grow by the square root of two.
  static constexpr std::size_t kBins = 37;

  // Adds an example of this weight; one that is not a number counts as 0, one beyond the last bin
  // as the last.
  void add(float logit, float label, double weight);

  std::span<double> cells() { return cells_; }  // those of label 0, then those of label 1

  // Returns the scaling under which the counts are likeliest, if noise of this standard deviation
  // is on each of them. Bins that are mostly noise are left out. The less is left, the nearer the
  // scaling is to none.
  ScoreScaling best_scaling(double noise_std) const;

 private:
  std::array<double, 2 * kBins> cells_{};
};

}  // namespace lazydp
