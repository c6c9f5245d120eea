#pragma once
// The privacy of the best of a random number of trials: Papernot and Steinke 2022, "Hyperparameter
// tuning with Renyi differential privacy".

#include <cstdint>
#include <span>
#include <vector>

namespace lazydp {

// The truncated negative binomial distribution of the number of trials K = 1, 2, ...:
//   P(K = k) proportional to (1 - gamma)^k  prod_{l < k} (l + eta) / (l + 1).
// eta = 1 is geometric, eta = 0 logarithmic (the limit of the formula without its first factor).
struct TrialsLaw {
  double eta;    // from -0.5 to 1; the smaller, the cheaper, and the more often few trials
  double gamma;  // in (0, 1); the smaller, the more trials

  // Throws UserError that names the field, the value given and what is allowed.
  void validate() const;
};

inline constexpr double kMostMeanTrials = 1000;

// Returns the law of this eta and mean. Throws UserError unless 1 < mean <= kMostMeanTrials.
TrialsLaw trials_with_mean(double mean, double eta);

double mean_trials(const TrialsLaw& law);
double probability_of_trials(const TrialsLaw& law, std::uint64_t k);

// Returns the number of trials whose cumulative probability first exceeds `uniform` in (0, 1): its
// law is `law`, but for 2^-53 in total variation, if `uniform` is uniform with 53 bits. There is no
// cap: the bound below is about this law, not about a shorter one.
std::uint64_t trials_at(const TrialsLaw& law, double uniform);

// Returns the Renyi divergences, at rdp_orders(), of running a mechanism K times, each time anew,
// and releasing only the best of its outputs; `base` are those of running it once. Theorem 2: for
// every pair of orders (a, b)
//   base(a) + (1 + eta) ((1 - 1/b) base(b) + log(1/gamma) / b) + log(E K) / (a - 1),
// here with the best b for each a; b = 1 is allowed, where base(b) counts nothing.
std::vector<double> rdp_of_best(std::span<const double> base, const TrialsLaw& law);

// A search whose trials each draw a candidate uniformly from a public grid, train it, and score it
// with Gaussian noise. A trial's outputs are ordered by their noisy scores.
struct PrivateSearch {
  TrialsLaw trials;
  std::uint64_t candidates;      // size of the grid
  std::vector<double> training;  // at rdp_orders(): no candidate's training has more
  double score_noise;            // std of the score's noise / the score's sensitivity; 0: none
};

// Returns the Renyi divergences of one trial at rdp_orders(). A public draw of the candidate costs
// no more than the costliest candidate. Training and score are added up, though no example is in
// both parts: that holds for every way of splitting, also for one that could move examples.
std::vector<double> rdp_of_trial(const PrivateSearch& search);

// Returns the smallest epsilon that is proven for the model with the best noisy score, at `delta`
// in (0, 1). Infinite if training or the score has no noise.
double search_epsilon(const PrivateSearch& search, double delta);

// Raises `most` to `curve` wherever that is higher; both are divergences at rdp_orders(). An empty
// `most` becomes `curve`.
void raise_to(std::span<const double> curve, std::vector<double>& most);

}  // namespace lazydp
