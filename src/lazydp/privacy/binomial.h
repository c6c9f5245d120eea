#pragma once
// Tails of the binomial distribution, and what a count says of the probability behind it.

#include <cstdint>

namespace lazydp {

// P(Binomial(trials, p) <= hits), for p in [0, 1].
double binomial_cdf(std::uint64_t hits, std::uint64_t trials, double p);

// P(Binomial(trials, p) >= hits): small ones are not lost in a difference from 1.
double binomial_tail(std::uint64_t hits, std::uint64_t trials, double p);

// The smallest count that is not exceeded with probability `level` in (0, 1) at least.
std::uint64_t binomial_quantile(double level, std::uint64_t trials, double p);

// The largest probability under which `hits` or fewer hits in `trials` still happen with
// probability `alpha`: above the true one with confidence 1 - alpha (Clopper, Pearson 1934).
double binomial_upper_bound(std::uint64_t hits, std::uint64_t trials, double alpha);

}  // namespace lazydp
