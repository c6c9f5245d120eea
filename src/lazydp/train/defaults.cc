#include "lazydp/train/defaults.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace lazydp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A small clip norm would favour AUC over log-loss: where every gradient is clipped, each example
// pulls equally hard, and the model drifts towards the commoner label.
constexpr Defaults kClickPrivate = {.batch = 8192,
                                    .epochs = 20,
                                    .table_rate = 20,
                                    .dense_rate = 2,
                                    .warmup = 0.1,
                                    .shape = Schedule::Shape::polynomial,
                                    .clip_norm = 5,
                                    .noise_multiplier = 0.97};
constexpr Defaults kClickPlain = {.batch = 256,
                                  .epochs = 4,
                                  .table_rate = 0.6,
                                  .dense_rate = 0.2,
                                  .shape = Schedule::Shape::polynomial,
                                  .clip_norm = kInfinity};
// Tuned for a log of some ten thousand lines. The rates are higher than for `click`, whose rates
// leave some models of few examples where they began.
constexpr Defaults kFilePlain = {.batch = 256,
                                 .epochs = 4,
                                 .table_rate = 3,
                                 .dense_rate = 0.5,
                                 .shape = Schedule::Shape::polynomial,
                                 .clip_norm = kInfinity};
constexpr Defaults kLargePrivate = {.batch = 16384,
                                    .epochs = 10,
                                    .table_rate = 30,
                                    .dense_rate = 2,
                                    .warmup = 0.1,
                                    .shape = Schedule::Shape::polynomial,
                                    .clip_norm = 5,
                                    .noise_multiplier = 0.71};
constexpr Defaults kLargePlain = {.batch = 512,
                                  .epochs = 4,
                                  .table_rate = 1,
                                  .dense_rate = 0.2,
                                  .shape = Schedule::Shape::polynomial,
                                  .clip_norm = kInfinity};
// The paper's values for its experiments on speed.
constexpr Defaults kTimingPrivate = {.batch = 2048,
                                     .steps = 20,
                                     .table_rate = 0.01,
                                     .dense_rate = 0.01,
                                     .clip_norm = 0.4,
                                     .noise_multiplier = 1.0,
                                     .delta = 1e-5};
constexpr Defaults kTimingPlain = {.batch = 2048,
                                   .steps = 20,
                                   .table_rate = 0.01,
                                   .dense_rate = 0.01,
                                   .clip_norm = kInfinity,
                                   .delta = 1e-5};

}  // namespace

Defaults defaults_for(const Synthetic& data, const Recipe& recipe) {
  const auto* size = std::get_if<ClickSize>(&data);
  if (size == nullptr) return recipe.clips() ? kTimingPrivate : kTimingPlain;
  if (*size == ClickSize::small) return recipe.clips() ? kClickPrivate : kClickPlain;
  return recipe.clips() ? kLargePrivate : kLargePlain;
}

double dense_rate_for(DenseRule rule, double of_sgd) {
  constexpr double kMomentumAddsUp = 10.0;  // 1 / (1 - 0.9)
  switch (rule) {
    case DenseRule::sgd: break;
    case DenseRule::momentum: return of_sgd / kMomentumAddsUp;
    case DenseRule::adam: return 0.002;
    case DenseRule::adagrad: return 0.02;
  }
  return of_sgd;
}

double table_rate_for(TableRule rule, double of_sgd) {
  return rule == TableRule::momentum ? of_sgd * (1.0 - kTableMomentum) : of_sgd;
}

Defaults tuned_for_noise(const Defaults& defaults, double noise_multiplier) {
  constexpr double kTables = 1.2, kDense = 0.7;
  Defaults tuned = defaults;
  if (!(noise_multiplier > defaults.noise_multiplier && defaults.noise_multiplier > 0.0)) {
    return tuned;
  }
  const double less = defaults.noise_multiplier / noise_multiplier;
  tuned.table_rate *= std::pow(less, kTables);
  tuned.dense_rate *= std::pow(less, kDense);
  return tuned;
}

Defaults defaults_for_file(std::uint64_t examples, const Recipe& recipe) {
  constexpr std::uint64_t kMany = 500'000;
  constexpr double kUsualEpsilon = 8.0;
  const bool many = examples >= kMany;
  Defaults defaults =
      recipe.clips() ? (many ? kLargePrivate : kClickPrivate) : (many ? kLargePlain : kFilePlain);
  const std::uint64_t share = recipe.clips() ? examples / 16 : examples / 64;
  const auto found_for = static_cast<double>(defaults.batch);
  defaults.batch = std::min(defaults.batch, std::bit_floor(std::max<std::uint64_t>(1, share)));
  // Fewer examples share the noise of a step, which then must not move the weights as far.
  const double smaller = std::sqrt(static_cast<double>(defaults.batch) / found_for);
  defaults.table_rate *= smaller;
  defaults.dense_rate *= smaller;
  if (defaults.noise_multiplier > 0.0) defaults.epsilon = kUsualEpsilon;
  return defaults;
}

}  // namespace lazydp
