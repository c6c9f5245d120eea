#include "lazydp/privacy/bins/bins_divergence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "lazydp/base/parallel.h"
#include "lazydp/privacy/binomial.h"

namespace lazydp {

namespace {

constexpr std::uint64_t kBlock = 512;  // draws of one task, which have random numbers of their own
constexpr double kSecondsPerTerm = 1e-8;  // for a normal or an exponential
constexpr double kMostExponent = 300;     // of numbers that are multiplied

double term_seconds(const BinMixture& mixture) {
  return kSecondsPerTerm * static_cast<double>(mixture.normals() + 2 * mixture.bins());
}

// Returns the price of the option: E[(1 - exp(X))+] for X Gaussian with this mean and std.
double put(double mean, double std) {
  if (std == 0) return std::max(0.0, -std::expm1(mean));
  return std::max(0.0, normal_cdf(-mean / std) -
                           std::exp(mean + std * std / 2) * normal_cdf(-mean / std - std));
}

}  // namespace

BinsDivergence::BinsDivergence(const BinMixture& mixture, double sigma)
    : mixture_(mixture), sigma_(sigma) {}

// The best p is where the likeliest outputs with W <= exp(-epsilon) have their weight: the bins
// that say least against the example.
double BinsDivergence::without_from_with(double epsilon) const {
  constexpr int kRounds = 20;
  const std::size_t n = mixture_.bins();
  const double precision = 1 / (sigma_ * sigma_);
  std::vector<double> p(n, 1.0 / static_cast<double>(n));
  double best = 1.0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> seen(n, 0.0);  // G p
    double mean = epsilon, variance = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) seen[i] += precision * mixture_.row(i)[j] * p[j];
      variance += p[i] * seen[i];
      mean -= p[i] * precision * mixture_.squares()[i] / 2;
      if (p[i] > 0) mean -= p[i] * std::log(p[i] * static_cast<double>(n));
    }
    best = std::min(best, put(mean, std::sqrt(variance)));
    if (!(variance > 0 && mean > 0)) break;
    // The output that is nearest to 0 among those at which the option is worth something.
    const double reach = -mean / variance;
    double largest = -std::numeric_limits<double>::infinity();
    std::vector<double> next(n);
    for (std::size_t i = 0; i < n; ++i) {
      next[i] = reach * seen[i] - precision * mixture_.squares()[i] / 2;
      largest = std::max(largest, next[i]);
    }
    double sum = 0.0;
    for (double& x : next) sum += x = std::exp(x - largest);
    for (std::size_t i = 0; i < n; ++i) p[i] = (p[i] + next[i] / sum) / 2;
  }
  return best;
}

void BinsDivergence::aim_at(double epsilon) {
  constexpr std::array kProposals = {std::pair(1.0, 1),  std::pair(1.25, 1), std::pair(1.5, 1),
                                     std::pair(2.0, 1),  std::pair(2.5, 1),  std::pair(3.0, 1),
                                     std::pair(4.0, 1),  std::pair(5.0, 1),  std::pair(1.0, 2),
                                     std::pair(1.25, 2), std::pair(1.5, 2),  std::pair(2.0, 2),
                                     std::pair(1.0, 3),  std::pair(1.25, 3)};
  const double square = std::ranges::max(mixture_.squares()) / (sigma_ * sigma_);
  draws_.clear();
  proposal_.reset();
  for (const auto& [stretch, power] : kProposals) {
    if (power == 3 && mixture_.bins() > TiltedBins::kMostBinsOfThree) continue;
    if (power > 1 && 3 * stretch * stretch * square > kMostExponent) continue;
    auto tried = std::make_unique<TiltedBins>(mixture_, sigma_, stretch, power);
    if (!proposal_ || tried->log_most(epsilon) < proposal_->log_most(epsilon)) {
      proposal_ = std::move(tried);
    }
  }
}

void BinsDivergence::draw(std::uint64_t draws, std::uint64_t stream) {
  draws_.resize(draws);
  parallel_blocks(draws, kBlock, [&](std::size_t begin, std::size_t end) {
    PublicRandom random(stream * 0x9e3779b97f4a7c15 + begin);
    TiltedBins::Workspace workspace;
    for (std::size_t i = begin; i < end; ++i) draws_[i] = proposal_->draw(random, workspace);
  });
}

std::vector<double> BinsDivergence::values(double epsilon) const {
  std::vector<double> values;
  values.reserve(draws_.size());
  for (const auto& [log_ratio, log_weight] : draws_) {
    // W dQ/dR (1 - exp(epsilon) / W)+
    const double above = -std::expm1(epsilon - log_ratio);
    values.push_back(log_ratio > epsilon ? std::exp(log_weight + log_ratio) * above : 0.0);
  }
  return values;
}

double BinsDivergence::most(double epsilon) const {
  return std::exp(proposal_->log_most(epsilon));
}

std::uint64_t BinsDivergence::draws_in(double seconds) const {
  return static_cast<std::uint64_t>(std::clamp(seconds / term_seconds(mixture_), 1e4, 4e6));
}

}  // namespace lazydp
