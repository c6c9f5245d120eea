#include "lazydp/train/defaults.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "lazydp/privacy/correlated_noise.h"

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
// Two epochs: with more, logs whose ids are rare are learned by heart.
constexpr Defaults kFilePlain = {.batch = 256,
                                 .epochs = 2,
                                 .table_rate = 10,
                                 .dense_rate = 0.5,
                                 .dense_rule = DenseRule::adam,
                                 .shape = Schedule::Shape::polynomial,
                                 .clip_norm = kInfinity};
// Found on a family of logs, no one of them alone: docs/utility.md. Adam's steps on the MLPs are
// bounded whatever the scale of the data; SGD's at the rates that learn most diverge on some logs.
constexpr Defaults kFilePrivate = {.batch = 8192,
                                   .epochs = 20,
                                   .table_rate = 100,
                                   .dense_rate = 0.5,
                                   .dense_rule = DenseRule::adam,
                                   .rates_follow_noise = true,
                                   .warmup = 0.1,
                                   .shape = Schedule::Shape::polynomial,
                                   .clip_norm = 1,
                                   .epsilon = 8};
constexpr double kUnitClipNorm = 0.3;  // a unit's mean gradient is shorter than an example's
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

Defaults defaults_for_file(std::uint64_t records, Record record, const Recipe& recipe) {
  constexpr std::uint64_t kMany = 500'000;
  const bool many = records >= kMany;
  if (!recipe.clips()) {
    Defaults defaults = kFilePlain;
    if (many) defaults.batch *= 2;
    const auto found_for = static_cast<double>(defaults.batch);
    defaults.batch =
        std::min(defaults.batch, std::bit_floor(std::max<std::uint64_t>(1, records / 64)));
    defaults.table_rate *= std::sqrt(static_cast<double>(defaults.batch) / found_for);
    return defaults;
  }
  Defaults defaults = kFilePrivate;
  if (record == Record::unit) defaults.clip_norm = kUnitClipNorm;
  // Many units cost little noise each; of few, a step takes as many as it can get.
  const double wanted = record == Record::unit ? 16.0 * std::sqrt(static_cast<double>(records))
                                               : static_cast<double>(records) / 16.0;
  const auto largest = static_cast<double>(many ? 2 * kFilePrivate.batch : kFilePrivate.batch);
  const auto most = static_cast<double>(std::max<std::uint64_t>(1, records));
  defaults.batch =
      std::bit_floor(static_cast<std::uint64_t>(std::clamp(wanted, 1.0, std::min(most, largest))));
  if (many) defaults.epochs = 10;
  defaults.stream_batch = defaults.batch;
  if (record == Record::example) {  // 128 to 256 steps a pass
    defaults.stream_batch = std::bit_floor(std::max<std::uint64_t>(1, records / 128));
  }
  return defaults;
}

namespace {

// Returns the deviation of the noise that all steps add up to, in units of base rate x noise
// multiplier x clip norm / expected batch. A noise cell counts for the sum of what the steps that
// use it make of it. Long plans are looked at here and there, for schedules are smooth, and at all
// of the last cells, which only a few steps use.
double root_of_summed_noise(const Plan& plan) {
  constexpr Step kLooks = 1000;
  const std::span<const double> bands = plan.correlation.bands();
  const auto square_at = [&](Step cell) {
    double weight = 0.0;
    for (std::size_t j = 0; j < bands.size() && j <= plan.steps - cell; ++j) {
      const Step t = cell + static_cast<Step>(j);
      weight += bands[j] * plan.rate_schedule.factor(t, plan.steps) *
                plan.noise_schedule.factor(t, plan.steps) *
                plan.clip_schedule.factor(t, plan.steps);
    }
    return weight * weight;
  };
  const auto last = std::min(plan.steps, static_cast<Step>(bands.size() - 1));
  const Step others = plan.steps - last;
  const Step looks = std::min(others, kLooks);
  double sum = 0.0;
  for (Step i = 0; i < looks; ++i) {
    sum += square_at(static_cast<Step>((std::uint64_t{i} * others) / looks + 1));
  }
  if (looks > 0) sum = sum / looks * others;
  for (Step cell = others + 1; cell <= plan.steps; ++cell) sum += square_at(cell);
  return std::sqrt(sum);
}

double table_rate_by_noise(double largest, const Plan& plan) {
  const Mechanism& m = plan.mechanism;
  if (!std::isfinite(m.clip_norm)) return largest;
  const double bounded = largest / m.clip_norm;
  const double noise = m.noise_multiplier * m.clip_norm / m.expected_batch;
  if (!(noise > 0.0)) return bounded;
  // While it trains a row carries more of correlated noise than is left at the end.
  const double wanted = plan.correlation.independent() ? kNoiseOfARow : kCorrelatedNoiseOfARow;
  return std::min(bounded, wanted / (noise * root_of_summed_noise(plan)));
}

// Returns the rate of tables, given that of SGD.
double table_rate_for(const Plan& plan, double of_sgd) {
  switch (plan.table_rule) {
    case TableRule::sgd: break;
    case TableRule::momentum: return (1.0 - kTableMomentum) * of_sgd;
    case TableRule::adam: return 0.002;
    case TableRule::adagrad: return 0.05;
  }
  return of_sgd;
}

// Returns how far the noise of all steps moves a weight, in units of how far that of one does: the
// root of their number, or less where later steps take back what earlier ones added.
double walk_of_noise(const Plan& plan) {
  const std::span<const double> bands = plan.correlation.bands();
  const double one = std::inner_product(bands.begin(), bands.end(), bands.begin(), 0.0);
  return std::sqrt(variance_of_sum(bands, plan.steps) / one);
}

// Correlated noise is large beside the gradient of its step, and Adam divides by both: what is
// learned in a step is so much less than its rate.
double largest_of_adam(const Plan& plan) {
  return plan.correlation.independent() ? 0.02 : 0.12;
}

// Returns the rate of the MLPs, given that of SGD. Adam and Adagrad undo the size of a gradient,
// so their rates do not depend on it.
double dense_rate_for(const Plan& plan, double of_sgd) {
  constexpr double kMomentumAddsUp = 10.0;  // 1 / (1 - 0.9)
  constexpr double kAdamWalk = 0.14;        // how far Adam may walk in a run of noise alone
  switch (plan.dense_rule) {
    case DenseRule::sgd: break;
    case DenseRule::momentum: return of_sgd / kMomentumAddsUp;
    case DenseRule::adam:
      return plan.recipe.clips() ? std::min(largest_of_adam(plan), kAdamWalk / walk_of_noise(plan))
                                 : 0.002;
    case DenseRule::adagrad: return 0.02;
  }
  return of_sgd;
}

}  // namespace

double noise_of_a_row(const Plan& plan) {
  const Mechanism& m = plan.mechanism;
  if (!(m.noise_multiplier > 0.0)) return 0.0;
  return plan.table_rate * m.noise_multiplier * m.clip_norm / m.expected_batch *
         root_of_summed_noise(plan);
}

Rates rates_for(const Defaults& defaults, const Plan& plan) {
  constexpr double kTables = 1.2, kDense = 0.7;
  const double noise = plan.mechanism.noise_multiplier;
  Rates rates{.tables = defaults.table_rate, .dense = defaults.dense_rate};
  if (defaults.rates_follow_noise) {
    rates.tables = table_rate_by_noise(defaults.table_rate, plan);
  } else if (noise > defaults.noise_multiplier && defaults.noise_multiplier > 0.0) {
    // More noise asks for smaller steps, of tables more than of MLPs, whose few weights see every
    // example.
    const double less = defaults.noise_multiplier / noise;
    rates.tables *= std::pow(less, kTables);
    rates.dense *= std::pow(less, kDense);
  }
  rates.tables = table_rate_for(plan, rates.tables);
  rates.dense = dense_rate_for(plan, rates.dense);
  return rates;
}

}  // namespace lazydp
