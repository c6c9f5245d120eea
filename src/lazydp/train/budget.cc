#include "lazydp/train/budget.h"

#include <cmath>
#include <sstream>

#include "lazydp/base/error.h"

namespace lazydp {
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
  message << "epsilon is " << budget.epsilon << ", of which " << spent.steps()
          << " steps have spent " << before
          << ": no noise is enough for more steps; raise epsilon, or release what there is";
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

}  // namespace lazydp
