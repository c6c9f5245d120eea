#include "lazydp/data/synthetic/click_truth.h"

#include <array>
#include <cmath>

#include "lazydp/random/stream.h"

namespace lazydp {
namespace {

// Streams of the public seed; the families of ExampleRandom have the numbers below.
enum class Hidden : TableId { effects = 16, vectors = 17, weights = 18 };

std::vector<double> draw_normals(Hidden what, ClickSize size, std::size_t count, double std) {
  RandomStream random(Seed::fixed(kClickSeed), Purpose::public_data, static_cast<TableId>(what),
                      static_cast<Step>(size));
  std::vector<double> values(count);
  for (double& value : values) value = std * random.normal();
  return values;
}

}  // namespace

ClickShape ClickShape::of(ClickSize size) {
  if (size == ClickSize::small) {
    return {.rows = 10'000,
            .train = 200'000,
            .held_out = 50'000,
            .with_effect = 500,
            .with_vector = 100,
            .scale = 0.43967,
            .shift = -0.97731};
  }
  return {.rows = 100'000,
          .train = 1'000'000,
          .held_out = 50'000,
          .with_effect = 2'000,
          .with_vector = 300,
          .scale = 0.41058,
          .shift = -1.27363};
}

ClickTruth::ClickTruth(ClickSize size)
    : shape_(ClickShape::of(size)),
      effects_(draw_normals(Hidden::effects, size, kClickTables * shape_.with_effect, 1.0)),
      vectors_(
          draw_normals(Hidden::vectors, size, kClickTables * shape_.with_vector * kVector, 0.3)),
      weights_(draw_normals(Hidden::weights, size, kClickFeatures, 0.5)) {}

double ClickTruth::probability(std::span<const std::uint32_t> ids,
                               std::span<const float> dense) const {
  return 1.0 / (1.0 + std::exp(-(shape_.scale * raw_logit(ids, dense) + shape_.shift)));
}

// The sum over pairs is half of what the square of the sum has beside the squares.
double ClickTruth::raw_logit(std::span<const std::uint32_t> ids,
                             std::span<const float> dense) const {
  double logit = 0.0;
  double squares = 0.0;
  std::array<double, kVector> sum{};
  for (std::size_t k = 0; k < kClickTables; ++k) {
    if (ids[k] < shape_.with_effect) logit += effects_[k * shape_.with_effect + ids[k]];
    if (ids[k] >= shape_.with_vector) continue;
    const double* v = &vectors_[(k * shape_.with_vector + ids[k]) * kVector];
    for (std::size_t j = 0; j < kVector; ++j) {
      sum[j] += v[j];
      squares += v[j] * v[j];
    }
  }
  for (const double s : sum) logit += 0.5 * s * s;
  logit -= 0.5 * squares;
  for (std::size_t i = 0; i < kClickFeatures; ++i) logit += weights_[i] * double{dense[i]};
  return logit;
}

}  // namespace lazydp
