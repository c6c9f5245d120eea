#pragma once
// The tight accountant: privacy-loss distributions composed by Fourier transform.

#include <span>
#include <vector>

#include "lazydp/privacy/ledger.h"

namespace lazydp {

// Upper bounds for adding or removing one example, never above rdp.h's. Up to a million steps
// epsilon is mostly within 1e-4 of the truth, relative, and within 1 % where steps rarely reveal
// anything (tiny sampling rates, little noise; an epsilon below 1e-3 may come out as one spacing of
// the lattice, about 1e-3); a schedule of thousands of different steps costs
// 0.3 % more. All that is approximated is counted against us: the discretisation ("connect the
// dots", Doroshenko et al. 2022), cut-off tails, wrap-around and rounding, the last two relative to
// delta, however small, because losses are tilted to where delta is decided (the saddle point)
// first. `delta` in (0, 1), `epsilon` >= 0.
double pld_epsilon(const Ledger& ledger, double delta);
double pld_delta(const Ledger& ledger, double epsilon);

// pld_delta of many epsilons, ascending, at the price of a few: bounds that are loose by some
// per mille where they were not asked for one by one.
std::vector<double> pld_deltas(const Ledger& ledger, std::span<const double> epsilons);

// Lower bounds by an independent discretisation: the truth lies between. For tests and for showing
// how little is given away; never to be claimed. They compose phase by phase, hence are meant for
// ledgers of at most a hundred or so different mechanisms.
double pld_epsilon_lower(const Ledger& ledger, double delta);
double pld_delta_lower(const Ledger& ledger, double epsilon);

}  // namespace lazydp
