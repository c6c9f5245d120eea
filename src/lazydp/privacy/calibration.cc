#include "lazydp/privacy/calibration.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "lazydp/base/error.h"
#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/composition.h"

namespace lazydp {
namespace {

constexpr double kPrecision = 1e-4;
constexpr double kExactPrecision = 1e-10;  // where epsilon is a closed form
constexpr double kSampledPrecision = 1e-3;
constexpr double kRaise = 1.003;  // of noise that was estimated, and cannot be proven to be enough
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

// A value that was tried, and its epsilon.
struct Trial {
  double value, epsilon;
};

// Returns where the line through two trials, on logarithmic scales, meets epsilon. Every third
// guess halves the bracket instead, so that no curve can stall the search.
double guess_between(const Trial& a, const Trial& b, double epsilon, int round) {
  double part = 0.5;
  if (round % 3 != 2 && a.epsilon > 0 && b.epsilon > 0 && std::isfinite(a.epsilon + b.epsilon)) {
    part = std::log(epsilon / a.epsilon) / std::log(b.epsilon / a.epsilon);
  }
  return a.value * std::pow(b.value / a.value, std::clamp(part, 0.0, 1.0));
}

bool fits(const Trial& trial, const Budget& budget) {
  return trial.epsilon <= budget.epsilon;
}

double precision_for(const Ledger& ledger, Accountant accountant) {
  if (accountant == Accountant::rdp) return kPrecision;
  if (exact_mu(ledger)) return kExactPrecision;
  return takes_sampling(ledger, accountant) ? kSampledPrecision : kPrecision;
}

// Returns nothing if kMostNoise is not enough. `start` is any positive guess.
std::optional<double> least_noise(const Budget& budget, const std::function<Ledger(double)>& ledger,
                                  Accountant accountant, double start) {
  const auto attempt = [&](double noise) {
    return Trial{noise, epsilon_by(ledger(noise), budget.delta, accountant, Effort::estimate)};
  };
  Trial enough = attempt(start);
  Trial too_little = enough;
  while (!fits(enough, budget)) {
    if (enough.value >= kMostNoise) return std::nullopt;
    too_little = enough;
    enough = attempt(std::min(kMostNoise, enough.value * 2));
  }
  while (fits(too_little, budget)) {
    if (too_little.value <= kLeastNoise) return too_little.value;
    enough = too_little;
    too_little = attempt(std::max(kLeastNoise, too_little.value / 2));
  }
  const double precision = precision_for(ledger(enough.value), accountant);
  for (int round = 0; enough.value > too_little.value * (1 + precision); ++round) {
    // Stays half a tolerance away from both ends: one more trial beside a good guess closes the
    // bracket.
    const double inset = 1 + precision / 2;
    const double guess = guess_between(too_little, enough, budget.epsilon, round);
    const Trial trial = attempt(std::clamp(guess, too_little.value * inset, enough.value / inset));
    (fits(trial, budget) ? enough : too_little) = trial;
  }
  return enough.value;
}

// Returns noise that is proven to be enough, by random numbers that had no part in finding `noise`.
double least_proven_noise(const Budget& budget, const std::function<Ledger(double)>& ledger,
                          Accountant accountant, double noise) {
  while (epsilon(ledger(noise), budget.delta, accountant) > budget.epsilon) {
    noise *= kRaise;
  }
  return noise;
}

// Throws: a result at the edge of its range was not chosen by the budget.
[[noreturn]] void refuse_least_noise(const Budget& budget, std::uint64_t steps) {
  std::ostringstream message;
  message << "epsilon is " << budget.epsilon << " at delta " << budget.delta << " over " << steps
          << " steps: even a noise_multiplier of " << kLeastNoise
          << ", the least that is looked for, stays within that; lower epsilon, or give the noise "
             "multiplier";
  throw UserError(message.str());
}

// `start` is a guess, from 1 to `most`.
std::uint64_t most_steps(const Budget& budget, const std::function<Ledger(std::uint64_t)>& ledger,
                         std::uint64_t most, Accountant accountant, std::uint64_t start) {
  const auto attempt = [&](std::uint64_t steps) {
    return Trial{static_cast<double>(steps), epsilon(ledger(steps), budget.delta, accountant)};
  };
  Trial within = attempt(start);
  if (!fits(within, budget)) {
    return start == 1 ? 0 : most_steps(budget, ledger, most, accountant, 1);
  }
  Trial beyond = within;
  while (fits(beyond, budget)) {
    if (beyond.value >= static_cast<double>(most)) return most;
    within = beyond;
    beyond = attempt(std::min(most, static_cast<std::uint64_t>(within.value) * 2));
  }
  for (int round = 0; beyond.value > within.value + 1; ++round) {
    const double guess = std::floor(guess_between(within, beyond, budget.epsilon, round));
    const double inside = std::clamp(guess, within.value + 1, beyond.value - 1);
    const Trial trial = attempt(static_cast<std::uint64_t>(inside));
    (fits(trial, budget) ? within : beyond) = trial;
  }
  return static_cast<std::uint64_t>(within.value);
}

}  // namespace

double noise_for_budget(const Budget& budget, double sampling_rate, std::uint64_t steps,
                        Accountant accountant) {
  require(steps > 0, "steps", steps, "1 or more");
  return noise_for_budget(
      budget, [&](double noise) { return ledger_of(sampling_rate, noise, steps); }, accountant);
}

std::optional<double> find_noise_for_budget(const Budget& budget,
                                            const std::function<Ledger(double)>& ledger,
                                            Accountant accountant) {
  validate(budget);
  std::optional<double> noise = least_noise(budget, ledger, Accountant::rdp, 1);
  if (accountant != Accountant::rdp) {  // rdp finds a starting point cheaply
    noise = least_noise(budget, ledger, accountant, noise.value_or(1));
  }
  if (noise && *noise <= kLeastNoise) refuse_least_noise(budget, ledger(1).steps());
  if (noise && takes_sampling(ledger(*noise), accountant)) {
    return least_proven_noise(budget, ledger, accountant, *noise);
  }
  return noise;
}

double noise_for_budget(const Budget& budget, const std::function<Ledger(double)>& ledger,
                        Accountant accountant) {
  if (const auto noise = find_noise_for_budget(budget, ledger, accountant)) return *noise;
  std::ostringstream message;
  message << "epsilon is " << budget.epsilon << " at delta " << budget.delta << " over "
          << ledger(1).steps() << " steps; no noise_multiplier up to " << kMostNoise
          << " gives that by " << accountant_name(accountant) << ": raise epsilon or delta"
          << (accountant == Accountant::rdp ? ", or use the pld accountant" : "");
  throw UserError(message.str());
}

std::uint64_t max_steps(const Budget& budget, double sampling_rate, double noise_multiplier,
                        Accountant accountant) {
  const auto ledger = [&](std::uint64_t steps) {
    return ledger_of(sampling_rate, noise_multiplier, steps);
  };
  return max_steps(budget, ledger, kMostSteps, accountant);
}

std::uint64_t max_steps(const Budget& budget, const std::function<Ledger(std::uint64_t)>& ledger,
                        std::uint64_t most, Accountant accountant) {
  validate(budget);
  std::uint64_t steps = most_steps(budget, ledger, most, Accountant::rdp, 1);
  if (accountant != Accountant::rdp) {
    steps = most_steps(budget, ledger, most, accountant, std::max<std::uint64_t>(steps, 1));
  }
  return steps;
}

}  // namespace lazydp
