#pragma once
// A ledger as steps over few distinct mechanisms, whose cost is never below the ledger's own.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lazydp/privacy/ledger.h"

namespace lazydp {

struct Node {
  double sampling_rate;
  double noise_multiplier;
};

struct Share {
  std::size_t node;
  double weight;  // the shares of a phase sum to 1
};

// Each step picks one node at random, by weight, and reveals which.
struct Phase {
  std::vector<Share> shares;
  std::uint64_t steps;
};

struct Phases {
  std::vector<Node> nodes;
  std::vector<Phase> phases;
};

// Returns one node for each distinct mechanism of the ledger: loses nothing.
Phases exact_phases(const Ledger& ledger);

// Returns exact phases while the ledger holds few distinct mechanisms. Expresses a schedule with
// thousands of them over a small lattice of nodes: an upper bound, above the truth by a term that
// is quadratic in the lattice's spacing.
//
// Why it is a bound. Let d(e) be the hockey-stick divergence at e of one step. A mixture that
// reveals its label has the weighted mean of its parts' d, so it dominates the step if d lies below
// the chord between the nodes, for every e.
//   In q: P = (1-q)N(0) + qN(1) is affine in q, and d is a mean of maxima of functions affine in q.
//   In sigma: d of the subsampled mechanism is an increasing affine image of the Gaussian's own d
// at another e. With m = 1/sigma that is a Black-Scholes price: d' = phi(m/2 - e/m) in m, and
// d''/d' = ((e/m)^2 - m^2/4) / m >= -m/4. Hence d is convex in any v(m) with v''/v' = -m/4, and v =
// erf(m / sqrt 8) is one: the Gaussian's total variation.
// Domination survives composition (Blackwell), for (epsilon, delta) and for Renyi divergence alike.
Phases merged_phases(const Ledger& ledger);

}  // namespace lazydp
