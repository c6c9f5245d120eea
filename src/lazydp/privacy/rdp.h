#pragma once
// The Renyi accountant: quick, and a few per cent above the truth (PLD is tight: pld.h).

#include <span>

#include "lazydp/privacy/ledger.h"

namespace lazydp {

// Renyi divergence of one step of the Poisson-subsampled Gaussian, at an order above 1; infinite
// without noise. Mironov, Talwar, Zhang 2019: a finite sum at integer orders, two infinite series
// with alternating tails at fractional ones, here summed with their signs.
double rdp_of_step(double sampling_rate, double noise_multiplier, double order);

// The orders over which the two functions below take their minimum.
std::span<const double> rdp_orders();

// The smallest epsilon that Renyi accounting proves for this ledger at `delta` in (0, 1).
double rdp_epsilon(const Ledger& ledger, double delta);

// The smallest delta that it proves at `epsilon` >= 0.
double rdp_delta(const Ledger& ledger, double epsilon);

}  // namespace lazydp
