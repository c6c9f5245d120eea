#pragma once
// Gaussian differential privacy: a mechanism is mu-GDP if telling neighbours apart is no easier
// than telling N(0, 1) from N(mu, 1). Dong, Roth, Su 2019.

namespace lazydp {

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
