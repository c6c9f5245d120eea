#include "lazydp/train/plan.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/random/cell.h"

namespace lazydp {

namespace {

constexpr double kLeastClipNorm = 1e-12;

void require(bool ok, const char* name, double value, const char* allowed) {
  if (ok) return;
  throw UserError(std::string(name) + " is " + std::to_string(value) + "; it must be " + allowed);
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
}

namespace {

Ledger after(const Plan& plan, Ledger spent, Step now, Step last) {
  for (Step t = now + 1; t <= last; ++t) spent.record(event_of(plan, t));
  return spent;
}

}  // namespace

SampledGaussian event_of(const Plan& plan, Step t) {
  const double sigma = plan.mechanism.noise_multiplier * plan.noise_schedule.factor(t, plan.steps);
  return {plan.mechanism.sampling_rate, plan.recipe.noise == NoisePolicy::none ? 0.0 : sigma, 1};
}

Ledger spent_before(const Plan& plan) {
  return plan.initial ? plan.initial->spent : Ledger();
}

double noise_for(const Plan& plan, Step now, const Ledger& spent) {
  const auto ledger = [&](double noise_multiplier) {
    Plan trial = plan;
    trial.mechanism.noise_multiplier = noise_multiplier;
    return after(trial, spent, now, trial.steps);
  };
  const Budget& budget = *plan.budget;
  if (spent.steps() == 0) return noise_for_budget(budget, ledger, plan.accountant);
  if (const auto noise = find_noise_for_budget(budget, ledger, plan.accountant)) return *noise;
  const double before = epsilon(spent, budget.delta, plan.accountant);
  if (!std::isfinite(before)) {
    throw PrivacyError("nothing can be claimed after " + std::to_string(spent.steps()) +
                       " steps without noise; give --noise-multiplier to go on without a claim");
  }
  std::ostringstream message;
  message << "epsilon is " << budget.epsilon << ", of which " << spent.steps() << " steps "
          << (now == 0 ? "of the initial model " : "") << "have spent " << before
          << ": no noise is enough for more steps; raise epsilon"
          << (now == 0 ? "" : ", or release what there is");
  throw PrivacyError(message.str());
}

Step last_affordable_step(const Plan& plan, Step now, const Ledger& spent) {
  if (!plan.budget) return plan.steps;
  const auto affords = [&](Step last) {
    return epsilon(after(plan, spent, now, last), plan.budget->delta, plan.accountant) <=
           plan.budget->epsilon;
  };
  if (plan.steps <= now || affords(plan.steps)) return plan.steps;
  Step within = now;
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
  const double sigma = event_of(plan, t).noise_multiplier;
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
