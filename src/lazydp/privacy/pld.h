#pragma once
// The tight accountant: privacy-loss distributions composed by Fourier transform.

#include "lazydp/privacy/ledger.h"

namespace lazydp {

// Upper bounds for adding or removing one example, within about 1e-4 of the truth (relative) up to
// a million steps. See docs: "Accounting". `delta` in (0, 1), `epsilon` >= 0.
double pld_epsilon(const Ledger& ledger, double delta);
double pld_delta(const Ledger& ledger, double epsilon);

// Lower bounds by an independent discretisation: the truth lies between. For tests and for showing
// how little is given away; never to be claimed.
double pld_epsilon_lower(const Ledger& ledger, double delta);
double pld_delta_lower(const Ledger& ledger, double epsilon);

}  // namespace lazydp
