#pragma once
// The moments behind Renyi accounting: E[(P/Q)^order] of the subsampled Gaussian.

namespace lazydp {

// log E_Q[(P/Q)^order] with Q = N(0, sigma^2), P = (1-q) N(0, sigma^2) + q N(1, sigma^2); this
// direction dominates the other. order > 1, 0 < q <= 1, sigma > 0. Rounding only ever raises it.
double log_renyi_moment(double sampling_rate, double noise_multiplier, double order);

}  // namespace lazydp
