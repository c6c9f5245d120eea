#pragma once
// The Renyi accountant: fast, and a few per cent above the truth (PLD is tight: pld.h).

#include <span>
#include <vector>

#include "lazydp/privacy/ledger.h"

namespace lazydp {

// Returns log E_Q[(P/Q)^order] with Q = N(0, sigma^2), P = (1-q) N(0, sigma^2) + q N(1, sigma^2);
// this direction dominates the other. order > 1, 0 < q <= 1, sigma > 0. Rounding only ever raises
// it.
double log_renyi_moment(double sampling_rate, double noise_multiplier, double order);

// Returns the Renyi divergence of one step of the Poisson-subsampled Gaussian, at an order above 1;
// infinite without noise. Mironov, Talwar, Zhang 2019: a finite sum at integer orders, two infinite
// series with alternating tails at fractional ones, here summed with their signs.
double rdp_of_step(double sampling_rate, double noise_multiplier, double order);

// Returns the orders over which the functions below take their minimum.
std::span<const double> rdp_orders();

// Returns the Renyi divergences of the whole ledger at rdp_orders(): zeros for an empty ledger,
// infinite without noise.
std::vector<double> rdp_curve(const Ledger& ledger);

// Returns the smallest epsilon that these divergences at rdp_orders() prove at `delta` in (0, 1).
double rdp_epsilon(std::span<const double> curve, double delta);

// Returns the smallest epsilon that Renyi accounting proves for this ledger at `delta` in (0, 1).
double rdp_epsilon(const Ledger& ledger, double delta);

// Returns the smallest delta that Renyi accounting proves at `epsilon` >= 0.
double rdp_delta(const Ledger& ledger, double epsilon);

}  // namespace lazydp
