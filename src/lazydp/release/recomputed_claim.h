#pragma once
// Recomputes what a card claims from the ledger on it.

#include <optional>

#include "lazydp/base/text/json.h"

namespace lazydp {

struct RecomputedClaim {
  double claimed = 0.0;     // the card's epsilon
  double recomputed = 0.0;  // by this program, from the card's ledger
};

// Returns nothing for a card that claims nothing. Throws PrivacyError if the card claims less than
// its ledger costs, UserError if it cannot be read.
//
// Only arithmetic is checked: that the steps on the ledger are those that were taken, with a secret
// key and on Poisson samples, is what the owner of the data says.
std::optional<RecomputedClaim> recompute_claim(const Json& card);

}  // namespace lazydp
