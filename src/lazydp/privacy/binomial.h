#pragma once
// Tails and confidence bounds of the binomial distribution, and Gaussian differential privacy.

#include <cstdint>

namespace lazydp {

// Returns P(Binomial(trials, p) <= hits), for p in [0, 1].
double binomial_cdf(std::uint64_t hits, std::uint64_t trials, double p);

// Returns P(Binomial(trials, p) >= hits); small values are not lost in a difference from 1.
double binomial_tail(std::uint64_t hits, std::uint64_t trials, double p);

// Returns the smallest count that is not exceeded with probability `level` in (0, 1) at least.
std::uint64_t binomial_quantile(double level, std::uint64_t trials, double p);

// Returns the largest probability under which `hits` or fewer hits in `trials` still happen with
// probability `alpha`: above the true one with confidence 1 - alpha (Clopper, Pearson 1934).
double binomial_upper_bound(std::uint64_t hits, std::uint64_t trials, double alpha);

// Gaussian differential privacy: a mechanism is mu-GDP if distinguishing neighbours is no easier
// than distinguishing N(0, 1) from N(mu, 1). Dong, Roth, Su 2019.
double normal_cdf(double x);
double normal_quantile(double probability);  // for a probability in (0, 1)

// Return the (epsilon, delta) trade-off of a mu-GDP mechanism, in closed form (Balle, Wang 2018).
// `mu` and `epsilon` >= 0, `delta` in (0, 1).
double gaussian_delta(double mu, double epsilon);
double gaussian_epsilon(double mu, double delta);

// Returns the mu of a test with these two error probabilities: no mu-GDP mechanism with a smaller
// mu allows it. Returns 0 for a test that is no better than a coin.
double gaussian_mu(double false_alarm, double miss);

}  // namespace lazydp
