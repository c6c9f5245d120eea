#include "lazydp/train/score_counts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lazydp/model/loss.h"

namespace lazydp {
namespace {

constexpr double kFirstEdge = 0.0625;  // logits nearer to 0 share the bin in the middle
constexpr int kOneSide = static_cast<int>(ScoreCounts::kBins / 2);

std::size_t bin_of(float logit) {
  const double size = std::isnan(logit) ? 0.0 : std::fabs(static_cast<double>(logit));
  if (size < kFirstEdge) return kOneSide;
  const double octaves = std::min(2.0 * std::log2(size / kFirstEdge), kOneSide - 1.0);
  const int away = 1 + static_cast<int>(octaves);
  return static_cast<std::size_t>(kOneSide + (logit < 0.0f ? -away : away));
}

// Returns the value that stands for a bin: the geometric mean of its edges.
double value_of(std::size_t bin) {
  const int away = static_cast<int>(bin) - kOneSide;
  if (away == 0) return 0.0;
  const double size = kFirstEdge * std::exp2((std::abs(away) - 0.5) / 2.0);
  return away < 0 ? -size : size;
}

struct Bin {
  double value, negatives, positives;
};

// How much evidence there is for no scaling, before a label is seen: the curvature of its
// log-likelihood.
struct Prior {
  double scale, shift;
};

// Returns a step of Newton's method towards the likeliest scaling.
ScoreScaling newton_step(std::span<const Bin> bins, const Prior& prior, const ScoreScaling& at) {
  double by_scale = prior.scale * (at.scale - 1.0);
  double by_shift = prior.shift * at.shift;
  double scale_scale = prior.scale, scale_shift = 0.0, shift_shift = prior.shift;
  for (const Bin& bin : bins) {
    const double p = sigmoid(at.scale * bin.value + at.shift);
    const double all = bin.negatives + bin.positives;
    const double error = all * p - bin.positives;
    const double curvature = all * std::max(p * (1.0 - p), 1e-6);
    by_scale += error * bin.value;
    by_shift += error;
    scale_scale += curvature * bin.value * bin.value;
    scale_shift += curvature * bin.value;
    shift_shift += curvature;
  }
  const double determinant = scale_scale * shift_shift - scale_shift * scale_shift;
  return {(shift_shift * by_scale - scale_shift * by_shift) / determinant,
          (scale_scale * by_shift - scale_shift * by_scale) / determinant};
}

}  // namespace

void ScoreCounts::add(float logit, float label, double weight) {
  cells_[(label > 0.5f ? kBins : 0) + bin_of(logit)] += weight;
}

ScoreScaling ScoreCounts::best_scaling(double noise_std) const {
  constexpr double kClearOfNoise = 6.0;  // standard deviations that a bin must be above
  constexpr double kLeast = 1.0 / 64;
  constexpr int kSteps = 100;
  std::vector<Bin> bins;
  for (std::size_t b = 0; b < kBins; ++b) {
    const Bin bin = {value_of(b), std::max(cells_[b], 0.0), std::max(cells_[kBins + b], 0.0)};
    const double all = bin.negatives + bin.positives;
    if (all > 0.0 && all > kClearOfNoise * noise_std) bins.push_back(bin);
  }
  // Noise on one bin far out, where logits are around ten, pulls about as hard.
  const Prior prior = {1.0 + 10.0 * noise_std, 1.0 + 2.0 * noise_std};
  // Newton's steps from a scale of nothing, where the logistic function is nearly straight; halved
  // as long as they are longer than one.
  ScoreScaling best = {kLeast, 0.0};
  for (int i = 0; i < kSteps; ++i) {
    const ScoreScaling step = newton_step(bins, prior, best);
    const double length = std::max(std::fabs(step.scale), std::fabs(step.shift));
    const double part = length > 1.0 ? 1.0 / length : 1.0;
    best.scale = std::max(best.scale - part * step.scale, kLeast);
    best.shift -= part * step.shift;
  }
  return best;
}

}  // namespace lazydp
