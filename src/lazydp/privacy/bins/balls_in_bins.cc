#include "lazydp/privacy/bins/balls_in_bins.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/privacy/binomial.h"
#include "lazydp/privacy/bins/bins_divergence.h"
#include "lazydp/privacy/bins/confident_mean.h"

namespace lazydp {
namespace {

constexpr double kRisk = 1 - kMonteCarloConfidence;
constexpr double kProofSeconds = 20;  // on one core, about
constexpr double kPilotSeconds = 0.5;
constexpr std::uint64_t kPilotDraws = 50'000;
constexpr double kClose = 1.03;    // a bound that close to the mean needs no more draws
constexpr double kAimedAt = 0.98;  // of delta, so that a fresh set of draws mostly proves as much

// Epsilons that one set of draws may prove, as multiples of what is expected: the first that holds
// is the answer. Each may fail with its share of the risk.
constexpr std::array kTries = {1.0, 1.004, 1.012, 1.03, 1.08};

using Question = std::vector<double>;  // all numbers that an answer depends on

Question question_of(const CorrelatedGaussian& block, double about, std::size_t parts) {
  Question question = {about,
                       static_cast<double>(parts),
                       block.noise_multiplier,
                       static_cast<double>(block.allowed.steps),
                       static_cast<double>(block.allowed.separation),
                       static_cast<double>(block.allowed.times)};
  question.insert(question.end(), block.bands.begin(), block.bands.end());
  return question;
}

// FNV-1a.
std::uint64_t seed_of(const Question& question) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const double number : question) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    for (int byte = 0; byte < 8; ++byte) {
      hash = (hash ^ ((bits >> (8 * byte)) & 0xff)) * 0x100000001b3;
    }
  }
  return hash;
}

// Returns where a falling function of x in [low, high] first is at most `limit`; high if nowhere.
template <typename Function>
double first_at_most(double low, double high, double limit, const Function& f) {
  for (int i = 0; i < 40 && high - low > 1e-5 * high; ++i) {
    const double middle = (low + high) / 2;
    (f(middle) <= limit ? high : low) = middle;
  }
  return high;
}

// Returns the rate that is best for a proof by so many draws, and the bound to be expected of it.
struct Expected {
  double rate, bound;
};

Expected expected(const BinsDivergence& pilot, double epsilon, std::uint64_t draws, double risk) {
  const std::vector<double> values = pilot.values(epsilon);
  const double rate = best_rate(values, pilot.most(epsilon), draws, risk);
  ConfidentMean mean(rate);
  for (const double y : values) mean.add(y);
  return {rate, mean.bound_after(draws, risk)};
}

double proven_bound(const BinsDivergence& drawn, double epsilon, double rate, double risk) {
  ConfidentMean mean(rate);
  for (const double y : drawn.values(epsilon)) mean.add(y);
  return mean.upper_bound(risk);
}

// One of the mixtures of a block, the noise, and the risk that may be taken of a wrong answer.
class OneMixture {
 public:
  OneMixture(const BinMixture& mixture, double sigma, double risk, std::uint64_t seed)
      : divergence_(mixture, sigma),
        mu_(std::sqrt(std::ranges::max(mixture.squares())) / sigma),
        risk_(risk),
        seed_(seed) {}

  // Aims at the epsilon that will be proven, which only draws can tell; returns it.
  double estimate(double delta) {
    const double most = gaussian_epsilon(mu_, delta);
    double epsilon = most / 2;
    for (std::uint64_t round = 0; round < 3; ++round) {
      pilot(epsilon, round, risk_ / kTries.size());
      epsilon = first_at_most(0.0, most, kAimedAt * delta, [&](double e) {
        return expected(divergence_, e, draws_, risk_ / kTries.size()).bound;
      });
    }
    return epsilon;
  }

  // An attacker who knew the bin would face a Gaussian mechanism: no answer is above that one's.
  double epsilon(double delta) {
    const double most = gaussian_epsilon(mu_, delta);
    const double aim = estimate(delta);
    const double risk = risk_ / kTries.size();
    std::vector<double> rates;
    rates.reserve(kTries.size());
    for (const double factor : kTries) {
      rates.push_back(expected(divergence_, factor * aim, draws_, risk).rate);
    }
    divergence_.draw(draws_, seed_ + kFresh);
    for (std::size_t i = 0; i < kTries.size() && kTries[i] * aim < most; ++i) {
      const double tried = kTries[i] * aim;
      if (proven_bound(divergence_, tried, rates[i], risk) <= delta) {
        return std::max(tried, without_from_with(delta, most));
      }
    }
    return most;
  }

  double delta(double epsilon) {
    pilot(epsilon, 0, risk_);
    const double rate = expected(divergence_, epsilon, draws_, risk_).rate;
    divergence_.draw(draws_, seed_ + kFresh);
    const double bound = proven_bound(divergence_, epsilon, rate, risk_);
    return std::min(gaussian_delta(mu_, epsilon),
                    std::max(bound, divergence_.without_from_with(epsilon)));
  }

 private:
  static constexpr std::uint64_t kFresh = 1000;  // numbers a stream that chose nothing

  double without_from_with(double delta, double most) const {
    return first_at_most(0.0, most, delta,
                         [&](double e) { return divergence_.without_from_with(e); });
  }

  // Also chooses how many draws will prove a bound close to their mean.
  void pilot(double epsilon, std::uint64_t round, double risk) {
    divergence_.aim_at(epsilon);
    divergence_.draw(std::min(kPilotDraws, divergence_.draws_in(kPilotSeconds)), seed_ + round);
    double mean = 0.0;
    const std::vector<double> values = divergence_.values(epsilon);
    for (const double y : values) mean += y / static_cast<double>(values.size());
    const std::uint64_t most = divergence_.draws_in(kProofSeconds);
    draws_ = kPilotDraws;
    while (draws_ < most && expected(divergence_, epsilon, draws_, risk).bound > kClose * mean) {
      draws_ = std::min(most, 2 * draws_);
    }
  }

  BinsDivergence divergence_;
  double mu_;
  double risk_;
  std::uint64_t seed_;
  std::uint64_t draws_ = kPilotDraws;  // of a proof
};

// Returns the largest answer of the block's mixtures. Remembers it: it is the same whenever it is
// asked for, and takes long.
double worst(const CorrelatedGaussian& block, double about, std::size_t parts, int kind,
             double (*answer)(OneMixture&, double)) {
  static std::mutex mutex;
  static std::map<std::pair<int, Question>, double> known;
  const std::pair<int, Question> key = {kind, question_of(block, about, parts)};
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const std::vector<BinMixture> mixtures = worst_mixtures(block);
  const double risk = kRisk / static_cast<double>(parts * mixtures.size());
  double most = 0.0;
  for (const BinMixture& mixture : mixtures) {
    OneMixture one(mixture, block.noise_multiplier, risk, seed_of(key.second));
    most = std::max(most, answer(one, about));
  }
  return known[key] = most;
}

}  // namespace

double balls_in_bins_epsilon(const CorrelatedGaussian& block, double delta, Effort effort,
                             std::size_t parts) {
  if (effort == Effort::estimate) {
    return worst(block, delta, parts, 2,
                 [](OneMixture& one, double at) { return one.estimate(at); });
  }
  return worst(block, delta, parts, 0, [](OneMixture& one, double at) { return one.epsilon(at); });
}

double balls_in_bins_delta(const CorrelatedGaussian& block, double epsilon) {
  return worst(block, epsilon, 1, 1, [](OneMixture& one, double at) { return one.delta(at); });
}

}  // namespace lazydp
