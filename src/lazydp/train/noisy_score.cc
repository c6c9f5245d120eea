#include "lazydp/train/noisy_score.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/model/loss.h"

namespace lazydp {
namespace {

double clipped_loss(float logit, float label, double bound) {
  const double loss = log_loss(logit, label);
  return loss < bound ? std::max(loss, 0.0) : bound;  // NaN is not below the bound
}

}  // namespace

std::vector<double> ScoredPart::weights() const {
  std::vector<double> weights(examples.size(), 1.0);
  if (units == nullptr) return weights;
  for (std::uint64_t u = 0; u < units->size(); ++u) {
    const auto members = units->members(u);
    for (const std::uint32_t i : members) weights[i] = 1.0 / static_cast<double>(members.size());
  }
  return weights;
}

double clipped_score(const Scorer& scorer, const ScoredPart& part, double bound) {
  check(part.size() > 0, "there is something to score on");
  const std::vector<double> weights = part.weights();
  double sum = 0.0;
  std::size_t next = 0;
  score(part.examples, scorer, [&](const Batch& batch, std::span<const float> logits) {
    for (std::size_t i = 0; i < logits.size(); ++i) {
      sum += weights[next++] * clipped_loss(logits[i], batch.labels[i], bound);
    }
  });
  return -sum / static_cast<double>(part.size());
}

double noisy_score(const Scorer& scorer, const ScoredPart& part, const ScoreMechanism& mechanism,
                   RandomStream& random) {
  const double std = mechanism.noise_multiplier * mechanism.sensitivity(part.size());
  return clipped_score(scorer, part, mechanism.bound) + std * random.normal();
}

}  // namespace lazydp
