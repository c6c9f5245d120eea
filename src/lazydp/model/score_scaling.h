#pragma once
// Platt scaling (Platt 1999): makes logits right on average without changing their order.

namespace lazydp {

struct ScoreScaling {
  double scale = 1.0;  // positive: scores keep their order
  double shift = 0.0;

  float of(float logit) const { return static_cast<float>(scale * logit + shift); }

  // Equal if every field is.
  bool operator==(const ScoreScaling&) const = default;
};

}  // namespace lazydp
