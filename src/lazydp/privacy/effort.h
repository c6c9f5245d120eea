#pragma once
// How sure an answer has to be that is computed by sampling.

#include <cstdint>

#include "lazydp/privacy/accountant.h"

namespace lazydp {

// proof: what may be claimed. estimate: about that, either way, much faster: for searches, whose
// result is then proven. Answers that need no sampling are proofs.
enum class Effort : std::uint8_t { proof, estimate };

// Returns epsilon(ledger, delta, accountant), which is the proof.
double epsilon_by(const Ledger& ledger, double delta, Accountant accountant, Effort effort);

// Returns whether costs of this ledger are computed by sampling: they hold with
// kMonteCarloConfidence (bins/balls_in_bins.h), and take up to a minute.
bool takes_sampling(const Ledger& ledger, Accountant accountant);

}  // namespace lazydp
