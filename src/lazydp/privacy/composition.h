#pragma once
// What the events of a ledger amount to together, where that can be said in closed form.

#include <optional>
#include <vector>

#include "lazydp/privacy/ledger.h"

namespace lazydp {

// Returns the one Gaussian mechanism that the block's steps are together, its noise multiplier
// being sigma / sensitivity. For balls-in-bins it is an upper bound: that of an attacker who knows
// the bin.
Gaussian as_one_gaussian(const CorrelatedGaussian& block);

// Returns mu if all events are Gaussian mechanisms without sampling: together they are exactly
// mu-GDP. Infinite without noise, 0 for an empty ledger, nothing if any event samples.
std::optional<double> exact_mu(const Ledger& ledger);

// Returns the ledgers of which one example may have had part in any one, but in no two: for each
// disjoint block that block and all that is not disjoint. The cost of the ledger is the largest of
// theirs ("parallel composition"). A ledger without disjoint blocks is returned alone.
std::vector<Ledger> ledgers_of_one_example(const Ledger& ledger);

// Returns whether the event is a block with balls-in-bins sampling, and has noise.
bool has_secret_bins(const PrivacyEvent& event);

// The blocks of a ledger that have secret bins; and everything else, as it would be
// composed if a run had only that.
struct SecretBins {
  std::vector<CorrelatedGaussian> blocks;
  Ledger rest;
};
SecretBins secret_bins(const Ledger& ledger);

// Returns the ledger of an attacker who knows all bins: an upper bound.
Ledger with_known_bins(const Ledger& ledger);

// Returns whether neighbours differ by a blank line (zero-out) rather than by one more or less: so
// it is if any event is a block. For the other events the two cost the same.
bool blanks_an_example(const Ledger& ledger);

}  // namespace lazydp
