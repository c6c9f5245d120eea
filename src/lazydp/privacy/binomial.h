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

// Gaussian differential privacy: a mechanism is mu-GDP if telling neighbours apart is no easier
// than telling N(0, 1) from N(mu, 1). Dong, Roth, Su 2019.

double normal_cdf(double x);
double normal_quantile(double probability);  // of a probability in (0, 1)

// The (epsilon, delta) trade-off of a mu-GDP mechanism, in closed form (Balle, Wang 2018). `mu` and
// `epsilon` >= 0, `delta` in (0, 1).
double gaussian_delta(double mu, double epsilon);
double gaussian_epsilon(double mu, double delta);

// The mu of a test with these two error probabilities: no mu-GDP mechanism with a smaller mu allows
// it. 0 for a test that is no better than a coin.
double gaussian_mu(double false_alarm, double miss);

}  // namespace lazydp
