#pragma once
// The other way round: what may be done within a privacy budget.

#include <cstdint>
#include <functional>
#include <optional>

#include "lazydp/privacy/accountant.h"

namespace lazydp {

// What may be spent.
struct Budget {
  double epsilon;  // positive
  double delta;    // in (0, 1), below 1 / examples
};

// The smallest noise multiplier, to 1e-4 of itself, with which `steps` steps stay within the
// budget; what it returns does stay within. Throws UserError for a budget that no noise can meet,
// or that the least noise there is to choose (0.001) meets: that was not chosen by the budget.
double noise_for_budget(const Budget& budget, double sampling_rate, std::uint64_t steps,
                        Accountant accountant);

// The same for any run: `ledger` says what it does with a base noise multiplier. More of that must
// cost less.
double noise_for_budget(const Budget& budget, const std::function<Ledger(double)>& ledger,
                        Accountant accountant);

// None where no noise can meet the budget.
std::optional<double> find_noise_for_budget(const Budget& budget,
                                            const std::function<Ledger(double)>& ledger,
                                            Accountant accountant);

constexpr std::uint64_t kMostSteps = 0xFFFFFFFE;  // that a run can have

// The largest number of steps that stays within the budget, 0 if none does, kMostSteps at most.
std::uint64_t max_steps(const Budget& budget, double sampling_rate, double noise_multiplier,
                        Accountant accountant);

}  // namespace lazydp
