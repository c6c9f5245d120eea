#include "lazydp/privacy/calibration.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "lazydp/privacy/require.h"

namespace lazydp {
namespace {

constexpr double kPrecision = 1e-4;
constexpr double kLeastNoise = 1e-3;
constexpr double kMostNoise = 1e6;

void validate(const Budget& budget) {
  require(budget.epsilon > 0 && std::isfinite(budget.epsilon), "epsilon", budget.epsilon,
          "positive and finite, for example 1.0");
  require(budget.delta > 0 && budget.delta < 1, "delta", budget.delta,
          "above 0 and below 1, for example 1e-6");
}

Ledger ledger_of(double sampling_rate, double noise_multiplier, std::uint64_t steps) {
  Ledger ledger;
  ledger.record({sampling_rate, noise_multiplier, steps});
  return ledger;
}

// A value tried, and what it costs.
struct Trial {
  double value, epsilon;
};

// Where the line through two trials, on logarithmic scales, meets epsilon; always strictly between
// them. Every third guess halves the bracket instead, so that no curve can stall the search.
double guess_between(const Trial& a, const Trial& b, double epsilon, int round) {
  double part = 0.5;
  if (round % 3 != 2 && a.epsilon > 0 && b.epsilon > 0 && std::isfinite(a.epsilon + b.epsilon)) {
    part = std::log(epsilon / a.epsilon) / std::log(b.epsilon / a.epsilon);
  }
  return a.value * std::pow(b.value / a.value, std::clamp(part, 0.0, 1.0));
}

}  // namespace

double noise_for_budget(const Budget& budget, double sampling_rate, std::uint64_t steps,
                        Accountant accountant) {
  validate(budget);
  require(steps > 0, "steps", steps, "1 or more");
  const auto attempt = [&](double noise) {
    return Trial{noise, epsilon(ledger_of(sampling_rate, noise, steps), budget.delta, accountant)};
  };
  const auto fits = [&](const Trial& trial) { return trial.epsilon <= budget.epsilon; };

  Trial enough = attempt(1);
  Trial too_little = enough;
  while (!fits(enough)) {
    if (enough.value > kMostNoise) {
      std::ostringstream message;
      message << "no noise_multiplier up to " << kMostNoise << " gives epsilon " << budget.epsilon
              << " at delta " << budget.delta << " over " << steps << " steps by "
              << accountant_name(accountant) << "; raise epsilon or delta"
              << (accountant == Accountant::rdp ? ", or use the pld accountant" : "");
      throw UserError(message.str());
    }
    too_little = enough;
    enough = attempt(enough.value * 2);
  }
  while (fits(too_little)) {
    if (too_little.value < kLeastNoise) return too_little.value;
    enough = too_little;
    too_little = attempt(too_little.value / 2);
  }

  for (int round = 0; enough.value > too_little.value * (1 + kPrecision); ++round) {
    // Half a tolerance away from both ends: one more trial beside a good guess closes the bracket.
    const double inset = 1 + kPrecision / 2;
    const double guess = guess_between(too_little, enough, budget.epsilon, round);
    const Trial trial = attempt(std::clamp(guess, too_little.value * inset, enough.value / inset));
    (fits(trial) ? enough : too_little) = trial;
  }
  return enough.value;
}

std::uint64_t max_steps(const Budget& budget, double sampling_rate, double noise_multiplier,
                        Accountant accountant) {
  validate(budget);
  const auto attempt = [&](std::uint64_t steps) {
    const Ledger ledger = ledger_of(sampling_rate, noise_multiplier, steps);
    return Trial{static_cast<double>(steps), epsilon(ledger, budget.delta, accountant)};
  };
  const auto fits = [&](const Trial& trial) { return trial.epsilon <= budget.epsilon; };

  Trial within = attempt(1);
  if (!fits(within)) return 0;
  Trial beyond = within;
  while (fits(beyond)) {
    if (beyond.value >= static_cast<double>(kMostSteps)) return kMostSteps;
    within = beyond;
    beyond = attempt(std::min(kMostSteps, static_cast<std::uint64_t>(within.value) * 8));
  }
  for (int round = 0; beyond.value > within.value + 1; ++round) {
    const double guess = std::floor(guess_between(within, beyond, budget.epsilon, round));
    const double inside = std::clamp(guess, within.value + 1, beyond.value - 1);
    const Trial trial = attempt(static_cast<std::uint64_t>(inside));
    (fits(trial) ? within : beyond) = trial;
  }
  return static_cast<std::uint64_t>(within.value);
}

}  // namespace lazydp
