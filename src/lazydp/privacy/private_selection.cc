#include "lazydp/privacy/private_selection.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazydp/base/error.h"
#include "lazydp/privacy/ledger.h"
#include "lazydp/privacy/rdp.h"

namespace lazydp {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns (gamma^power - 1) / power, and its limit log gamma at 0.
double power_difference(double gamma, double power) {
  return power == 0 ? std::log(gamma) : std::expm1(power * std::log(gamma)) / power;
}

void validate_eta(double eta) {
  require(eta >= -0.5 && eta <= 1, "trials-eta", eta, "from -0.5 to 1, for example 0");
}

double probability_of_one(const TrialsLaw& law) {
  return (1 - law.gamma) / -power_difference(law.gamma, -law.eta);
}

// P(K = k + 1) / P(K = k), below 1 for every k and eta <= 1.
double next_ratio(const TrialsLaw& law, double k) {
  return (1 - law.gamma) * (k + law.eta) / (k + 1);
}

}  // namespace

void TrialsLaw::validate() const {
  validate_eta(eta);
  require(gamma > 0 && gamma < 1, "gamma", gamma, "above 0 and below 1, for example 0.1");
}

double mean_trials(const TrialsLaw& law) {
  return (1 - law.gamma) / (law.gamma * -power_difference(law.gamma, law.eta));
}

TrialsLaw trials_with_mean(double mean, double eta) {
  validate_eta(eta);
  require(mean > 1 && mean <= kMostMeanTrials, "trials-mean", mean,
          "above 1 and at most 1000, for example 10");
  double many = -40;  // logarithms of gamma: there the mean is above 1000 for every eta ...
  double few = 0;     // ... and here it is 1
  for (int round = 0; round < 100; ++round) {
    const double middle = (many + few) / 2;
    const TrialsLaw law{eta, std::exp(middle)};
    (law.gamma < 1 && mean_trials(law) > mean ? many : few) = middle;
  }
  const TrialsLaw law{eta, std::exp(many)};
  law.validate();
  return law;
}

double probability_of_trials(const TrialsLaw& law, std::uint64_t k) {
  if (k == 0) return 0;
  double probability = probability_of_one(law);
  for (std::uint64_t i = 1; i < k; ++i) probability *= next_ratio(law, static_cast<double>(i));
  return probability;
}

std::uint64_t trials_at(const TrialsLaw& law, double uniform) {
  law.validate();
  constexpr double kNothing = 0x1p-64;  // less than the grid of `uniform` can tell from 0
  double left = uniform;
  double probability = probability_of_one(law);
  std::uint64_t k = 1;
  while (left >= probability && probability > kNothing * law.gamma) {
    left -= probability;
    probability *= next_ratio(law, static_cast<double>(k));
    ++k;
  }
  return k;
}

std::vector<double> rdp_of_best(std::span<const double> base, const TrialsLaw& law) {
  law.validate();
  const std::span<const double> orders = rdp_orders();
  check(base.size() == orders.size(), "a divergence for every order");
  const double log_odds = -std::log(law.gamma);
  double selecting = log_odds;  // at order 1
  for (std::size_t i = 0; i < orders.size(); ++i) {
    selecting = std::min(selecting, (1 - 1 / orders[i]) * base[i] + log_odds / orders[i]);
  }
  const double log_mean = std::log(mean_trials(law));
  std::vector<double> best(base.begin(), base.end());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    best[i] += (1 + law.eta) * selecting + log_mean / (orders[i] - 1);
  }
  return best;
}

std::vector<double> rdp_of_trial(const PrivateSearch& search) {
  const std::span<const double> orders = rdp_orders();
  check(search.training.size() == orders.size(), "a divergence for every order");
  std::vector<double> trial = search.training;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    trial[i] += rdp_of_step(1, search.score_noise, orders[i]);
  }
  return trial;
}

double search_epsilon(const PrivateSearch& search, double delta) {
  require(delta > 0 && delta < 1, "delta", delta, "above 0 and below 1, for example 1e-6");
  return rdp_epsilon(rdp_of_best(rdp_of_trial(search), search.trials), delta);
}

void raise_to(std::span<const double> curve, std::vector<double>& most) {
  most.resize(curve.size(), -kInfinity);
  std::ranges::transform(curve, most, most.begin(),
                         [](double a, double b) { return std::max(a, b); });
}

}  // namespace lazydp
