#include "lazydp/train/plan.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <sstream>
#include <string>
#include <variant>

#include "lazydp/base/error.h"
#include "lazydp/random/cell.h"

namespace lazydp {

namespace {

constexpr double kLeastClipNorm = 1e-12;

void require(bool ok, const char* name, double value, const char* allowed) {
  if (ok) return;
  throw UserError(std::string(name) + " is " + std::to_string(value) + "; it must be " + allowed);
}

// Throws UserError for noise that cannot be correlated, or whose cost in blocks is not known.
void require_accountable(const Plan& plan) {
  const bool correlated = !plan.correlation.independent();
  if ((correlated || plan.blocks) && !plan.noise_schedule.constant()) {
    throw UserError("noise-schedule is '" + plan.noise_schedule.text() +
                    "', but a block of steps " +
                    (correlated ? "whose noise is correlated " : "in the order of the data ") +
                    "has one noise multiplier: that is what its cost is known for");
  }
  if (!correlated) return;
  if (!traits_of(plan.recipe.noise).adds_all_noise()) {
    throw UserError("correlation is given, but " + std::string(plan.recipe.name) +
                    (plan.recipe.clips() ? " leaves out the noise of rows that are not in use, and "
                                           "later steps take back in part what earlier ones added"
                                         : " adds no noise") +
                    "; use dpsgd-f, lazydp-no-ans or lazydp, or --correlation independent");
  }
  if (plan.table_rule != TableRule::sgd) {
    throw UserError("table-optimizer is '" + std::string(table_rule_name(plan.table_rule)) +
                    "', under which the noise of steps is independent; use --table-optimizer sgd, "
                    "or --correlation independent");
  }
}

}  // namespace

void Plan::validate() const {
  mechanism.validate();
  if (steps == 0 || steps > kLastStep) {
    throw UserError("steps is " + std::to_string(steps) + "; it must be between 1 and " +
                    std::to_string(kLastStep));
  }
  const auto positive = [](double x) { return std::isfinite(x) && x > 0.0; };
  require(positive(table_rate), "lr", table_rate, "positive and finite, for example 0.1");
  require(positive(dense_rate), "dense-lr", dense_rate, "positive and finite, for example 0.1");
  constexpr double kMostWeight = 1e6;
  require(positive_weight > 0.0 && positive_weight <= kMostWeight, "positive-weight",
          positive_weight, "above 0 and at most 1e6");
  require(std::isfinite(weight_decay) && weight_decay >= 0.0, "weight-decay", weight_decay,
          "zero or positive");
  if (!linear(table_rule) && (recipe.noise != NoisePolicy::none || weight_decay != 0.0)) {
    throw UserError("table-optimizer is '" + std::string(table_rule_name(table_rule)) +
                    "', which is for tables without noise and weight decay: --algorithm sgd");
  }
  // A step keeps the fraction 1 - lr * weight_decay of a row: it must be positive.
  require(table_rate * weight_decay < 1.0, "lr x weight-decay", table_rate * weight_decay,
          "below 1");
  // Squares of floats below 1e-19 are 0: a gradient must be far longer than that before it has to
  // be clipped. A schedule is least at one of its ends.
  const double least = mechanism.clip_norm *
                       std::min(clip_schedule.factor(1, steps), clip_schedule.factor(steps, steps));
  if (recipe.clips() && !(least >= kLeastClipNorm)) {
    std::ostringstream message;
    message << "clip-norm is " << least << " at its least; it must be at least " << kLeastClipNorm
            << ", or 32-bit floats cannot tell how long a gradient is";
    throw UserError(message.str());
  }
  require_accountable(*this);
  if (calibrates_scores && blocks) {
    throw UserError("calibrate is 'on', but batches come " +
                    std::string(blocks->sampling == BlockSampling::stream
                                    ? "in the order of the data"
                                    : "from balls in bins") +
                    ", where what counts of all examples cost beside the steps is not known; use "
                    "--sampling poisson, or --calibrate off");
  }
}

void require_counted(const Plan& plan, const Sampler& sampler) {
  constexpr const char* kMust = "; the ledger must count what is done";
  const Sampling sampling = sampler.sampling();
  if (sampling == Sampling::poisson && sampler.rate() != plan.mechanism.sampling_rate) {
    throw PrivacyError("the sampler's rate is " + std::to_string(sampler.rate()) +
                       " and the mechanism's " + std::to_string(plan.mechanism.sampling_rate) +
                       kMust);
  }
  const bool in_blocks = sampling == Sampling::stream || sampling == Sampling::balls_in_bins;
  if (!plan.blocks && !in_blocks) return;
  const bool counted =
      plan.blocks && in_blocks &&
      (plan.blocks->sampling == BlockSampling::stream) == (sampling == Sampling::stream) &&
      plan.blocks->separation <= sampler.separation() &&
      plan.blocks->times >= sampler.participations();
  if (!counted) {
    throw PrivacyError(
        "the sampler is " + std::string(sampling_name(sampling)) + ", with " +
        std::to_string(sampler.separation()) +
        " steps from one participation to the next, and the plan counts another one" + kMust);
  }
}

double noise_multiplier(const Plan& plan, Step t) {
  if (plan.recipe.noise == NoisePolicy::none) return 0.0;
  return plan.mechanism.noise_multiplier * plan.noise_schedule.factor(t, plan.steps);
}

PrivacyEvent event_of(const Plan& plan, Step t, Step before_block) {
  const double sigma = noise_multiplier(plan, t);
  if (!plan.blocks) return SampledGaussian{plan.mechanism.sampling_rate, sigma, 1};
  const BlockRules& rules = *plan.blocks;
  const std::uint64_t steps = plan.steps - before_block;
  const std::uint64_t fit = (steps - 1) / rules.separation + 1;
  const std::span<const double> bands = plan.correlation.bands();
  return CorrelatedGaussian{.bands = {bands.begin(), bands.end()},
                            .noise_multiplier = sigma,
                            .allowed = {.steps = steps,
                                        .separation = rules.separation,
                                        .times = std::min(rules.times, fit)},
                            .sampling = rules.sampling,
                            .after_step = before_block,
                            .disjoint = rules.disjoint,
                            .steps = 1};
}

Step step_before_block(const Ledger& ledger) {
  if (ledger.empty()) return 0;
  const auto* block = std::get_if<CorrelatedGaussian>(&ledger.events().back());
  return block != nullptr ? static_cast<Step>(block->after_step) : 0;
}

double calibration_noise(const Plan& plan) {
  constexpr double kTimesTheNoise = 10.0;
  const double rate = plan.mechanism.sampling_rate;
  double mu_squared = 0.0;
  for (Step t = 1; t <= plan.steps; ++t) {
    const double sigma = noise_multiplier(plan, t);
    if (!(sigma > 0.0)) return 0.0;
    const double of_all = 1.0 / (sigma * sigma);
    mu_squared += std::min(of_all, rate * rate * std::expm1(of_all));
    if (t == 1 && plan.noise_schedule.constant()) {
      mu_squared *= plan.steps;
      break;
    }
  }
  return kTimesTheNoise / std::sqrt(mu_squared);
}

Ledger ledger_through(const Plan& plan, const Progressed& so_far, Step last) {
  Ledger ledger = so_far.spent;
  if (plan.blocks && last > so_far.now) {  // steps of a block are alike
    auto block = std::get<CorrelatedGaussian>(event_of(plan, last, so_far.before_block));
    block.steps = last - so_far.now;
    ledger.record(PrivacyEvent(block));
    return ledger;
  }
  for (Step t = so_far.now + 1; t <= last; ++t) ledger.record(event_of(plan, t));
  const bool to_come = last > so_far.now && last == plan.steps;
  if (plan.calibrates_scores && to_come) ledger.record(Gaussian{calibration_noise(plan), 1});
  return ledger;
}

Ledger spent_before(const Plan& plan) {
  Ledger ledger;
  if (plan.initial) ledger.append(plan.initial->spent);
  return ledger;
}

Progressed at_beginning(const Plan& plan) {
  return {0, spent_before(plan), 0};
}

double noise_for(const Plan& plan, const Progressed& so_far) {
  const auto ledger = [&](double noise_multiplier) {
    Plan trial = plan;
    trial.mechanism.noise_multiplier = noise_multiplier;
    return ledger_through(trial, so_far, trial.steps);
  };
  const Budget& budget = *plan.budget;
  const std::uint64_t steps = so_far.spent.steps();
  if (steps == 0) return noise_for_budget(budget, ledger, plan.accountant);
  if (const auto noise = find_noise_for_budget(budget, ledger, plan.accountant)) return *noise;
  const double before = epsilon(so_far.spent, budget.delta, plan.accountant);
  if (!std::isfinite(before)) {
    throw PrivacyError("nothing can be claimed after " + std::to_string(steps) +
                       " steps without noise; give --noise-multiplier to go on without a claim");
  }
  std::ostringstream message;
  message << "epsilon is " << budget.epsilon << ", of which " << steps << " steps "
          << (so_far.now == 0 ? "of the initial model " : "") << "have spent " << before
          << ": no noise is enough for more steps; raise epsilon"
          << (so_far.now == 0 ? "" : ", or release what there is");
  throw PrivacyError(message.str());
}

Step last_affordable_step(const Plan& plan, const Progressed& so_far) {
  if (!plan.budget) return plan.steps;
  const auto affords = [&](Step last) {
    return epsilon(ledger_through(plan, so_far, last), plan.budget->delta, plan.accountant) <=
           plan.budget->epsilon;
  };
  if (plan.steps <= so_far.now || affords(plan.steps)) return plan.steps;
  Step within = so_far.now;
  Step beyond = plan.steps;
  while (beyond - within > 1) {
    const Step middle = within + (beyond - within) / 2;
    (affords(middle) ? within : beyond) = middle;
  }
  return within;
}

namespace {

// Returns the standard deviation of the noise on the sum of step t: 0 without sigma, even for an
// infinite clip norm.
double noise_std(const Plan& plan, Step t) {
  const double sigma = noise_multiplier(plan, t);
  return sigma > 0.0 ? sigma * clip_norm(plan, t) : 0.0;
}

}  // namespace

double clip_norm(const Plan& plan, Step t) {
  return plan.mechanism.clip_norm * plan.clip_schedule.factor(t, plan.steps);
}

TableStep table_step(const Plan& plan, Step t) {
  return {.learning_rate = plan.table_rate * plan.rate_schedule.factor(t, plan.steps),
          .weight_decay = plan.weight_decay,
          .momentum = plan.table_rule == TableRule::momentum ? kTableMomentum : 0.0,
          .divisor = plan.mechanism.expected_batch,
          .noise_std = noise_std(plan, t)};
}

DenseStep dense_step(const Plan& plan, Step t) {
  return {.rate = plan.dense_rate * plan.rate_schedule.factor(t, plan.steps),
          .divisor = plan.mechanism.expected_batch,
          .noise_std = noise_std(plan, t)};
}

const char* settle_name(const Performance& performance) {
  return performance.settle_ahead ? "ahead" : "on-read";
}

const char* stages_name(const Performance& performance) {
  return performance.passes == NoisePasses::split ? "split" : "fused";
}

}  // namespace lazydp
