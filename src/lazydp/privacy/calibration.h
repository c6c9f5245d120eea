#pragma once
// Finds the noise or the number of steps that a privacy budget allows.

#include <cstdint>
#include <functional>
#include <optional>

#include "lazydp/privacy/accountant.h"

namespace lazydp {

// The epsilon and delta that may be spent.
struct Budget {
  double epsilon;  // positive
  double delta;    // in (0, 1), below 1 / examples
};

// Returns the smallest noise multiplier, to 1e-4 of itself (1e-10 where nothing is sampled, and
// epsilon hence a closed form; 1e-3, and what its proof takes, with balls-in-bins), with which
// `steps` steps stay within the budget; the returned value does stay within. Throws UserError for a
// budget that no noise can meet, or that the least noise there is to choose (0.001) meets: that was
// not chosen by the budget.
double noise_for_budget(const Budget& budget, double sampling_rate, std::uint64_t steps,
                        Accountant accountant);

// Returns the smallest base noise multiplier for any run: `ledger` returns the run's events for a
// base noise multiplier. More noise must cost less. A run with correlated noise is one event of all
// its steps.
double noise_for_budget(const Budget& budget, const std::function<Ledger(double)>& ledger,
                        Accountant accountant);

// Returns nothing where no noise can meet the budget.
std::optional<double> find_noise_for_budget(const Budget& budget,
                                            const std::function<Ledger(double)>& ledger,
                                            Accountant accountant);

constexpr std::uint64_t kMostSteps = 0xFFFFFFFE;  // the most that a run can have

// Returns the largest number of steps that stays within the budget, 0 if none does, kMostSteps at
// most.
std::uint64_t max_steps(const Budget& budget, double sampling_rate, double noise_multiplier,
                        Accountant accountant);

// Returns the largest number of steps for any run, `most` at most: `ledger` returns the events of
// so many steps. More steps must not cost less.
std::uint64_t max_steps(const Budget& budget, const std::function<Ledger(std::uint64_t)>& ledger,
                        std::uint64_t most, Accountant accountant);

}  // namespace lazydp
