#pragma once
// Computes the privacy cost of a ledger: the interface of this folder to the rest of the library.

#include <cstdint>
#include <string_view>

#include "lazydp/privacy/ledger.h"

namespace lazydp {

// rdp: milliseconds, some per cent above the truth. pld: tight, tens of milliseconds and more; a
// closed form, exact, where nothing is sampled.
enum class Accountant { rdp, pld };

// Throws UserError, which lists the valid names, for any other name.
Accountant accountant_from_name(std::string_view name);
// Returns the accountant's name.
std::string_view accountant_name(Accountant accountant);

// Returns the smallest epsilon that the accountant can prove for `delta`: the run that `ledger`
// records is (epsilon, delta)-differentially private for adding or removing one example, or for
// blanking it if there are blocks of correlated noise. Of disjoint blocks the costliest counts. An
// empty ledger costs nothing; without noise epsilon is infinite. Throws UserError unless 0 < delta
// < 1.
//
// Blocks with balls-in-bins sampling are accounted for by sampling (bins/balls_in_bins.h), and
// added to what else there is; by rdp, and where that is less, as if the attacker knew the bins.
double epsilon(const Ledger& ledger, double delta, Accountant accountant);

// Returns the smallest delta that the accountant can prove for `epsilon`. Throws UserError unless 0
// <= epsilon.
double delta(const Ledger& ledger, double epsilon, Accountant accountant);

// How sure an answer must be that is computed by sampling. proof: it may be claimed. estimate:
// about that, either way, much faster: for searches, whose result is then proven. Answers that need
// no sampling are proofs.
enum class Effort : std::uint8_t { proof, estimate };

// Returns epsilon(ledger, delta, accountant), which is the proof.
double epsilon_by(const Ledger& ledger, double delta, Accountant accountant, Effort effort);

// Returns whether costs of this ledger are computed by sampling: they hold with
// kMonteCarloConfidence (bins/balls_in_bins.h), and take up to a minute.
bool takes_sampling(const Ledger& ledger, Accountant accountant);

}  // namespace lazydp
