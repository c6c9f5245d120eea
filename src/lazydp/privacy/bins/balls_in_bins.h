#pragma once
// The cost of a block in which every example is in one secret step of each pass.

#include <cstddef>

#include "lazydp/privacy/accountant.h"
#include "lazydp/privacy/ledger.h"

namespace lazydp {

// Epsilons and deltas below come from Monte Carlo integration, and are upper bounds with this
// probability at least, over the random numbers used. These are pseudo-random, from a seed that is
// a function of the question: an answer is the same whenever it is asked for, and an unlucky one
// stays wrong. The confidence says how many of all questions may have one. Whoever asks cannot gain
// by looking for such a question: the data is not asked for.
inline constexpr double kMonteCarloConfidence = 1 - 1e-6;

// Return upper bounds on the cost of all steps that the block may have, in both directions: with
// and without the example. `delta` in (0, 1), `epsilon` >= 0. Take seconds to a minute on one core;
// estimates a tenth of that.
// An answer that is used together with others, `parts` in all, takes its part of the risk.
double balls_in_bins_epsilon(const CorrelatedGaussian& block, double delta, Effort effort,
                             std::size_t parts = 1);
double balls_in_bins_delta(const CorrelatedGaussian& block, double epsilon);

}  // namespace lazydp
