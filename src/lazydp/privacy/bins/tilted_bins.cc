#include "lazydp/privacy/bins/tilted_bins.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {

// The weight of a pair is its likeness, times, for triples, the mean over a third bin of the
// likenesses to both.
TiltedBins::TiltedBins(const BinMixture& mixture, double sigma, double stretch, int power)
    : mixture_(mixture), sigma_(sigma), stretch_(stretch), power_(power) {
  const std::size_t n = mixture.bins();
  check(sigma > 0 && stretch >= 1, "noise, and a stretch");
  check(power >= 1 && power <= 3 && (power < 3 || n <= kMostBinsOfThree),
        "a power that is feasible");
  most_square_ = std::ranges::max(mixture.squares()) / (sigma * sigma);
  if (power == 1) return;

  likeness_.resize(n * n);
  pairs_.resize(n * n);
  const double factor = stretch * stretch / (sigma * sigma);
  parallel_for(n, [&](std::size_t i) {
    for (std::size_t j = 0; j < n; ++j) {
      likeness_[i * n + j] = std::exp(factor * mixture.row(i)[j]);
    }
  });
  const auto row = [&](std::size_t i) { return std::span(likeness_).subspan(i * n, n); };
  parallel_for(n, [&](std::size_t i) {
    const std::span<double> weights = std::span(pairs_).subspan(i * n, n);
    std::ranges::copy(row(i), weights.begin());
    if (power == 2) return;
    std::vector<double> thirds(n, 0.0);
    for (std::size_t k = 0; k < n; ++k) {
      const double like = row(i)[k] / static_cast<double>(n);
      for (std::size_t j = 0; j < n; ++j) thirds[j] += like * row(k)[j];
    }
    for (std::size_t j = 0; j < n; ++j) weights[j] *= thirds[j];
  });
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) sum += pairs_[i * n + j];
    cumulative_.push_back(sum);
  }
  log_z_ = std::log(sum) - 2 * std::log(static_cast<double>(n));
}

// The largest W^(-m) (W - k) is at W = k m / (m - 1): (1 / m) ((m - 1) / (m k))^(m - 1).
double TiltedBins::log_most(double epsilon) const {
  const double m = power_ * stretch_;
  const double room = m > 1 ? (m - 1) * (std::log((m - 1) / m) - epsilon) : 0.0;
  return log_z_ + m * (stretch_ - 1) * most_square_ / 2 - std::log(m) + room;
}

std::size_t TiltedBins::draw_by(std::span<double> weights, double uniform) const {
  double sum = 0.0;
  for (double& weight : weights) weight = sum += weight;
  const auto found = std::ranges::upper_bound(weights, uniform * sum);
  return std::min<std::size_t>(found - weights.begin(), weights.size() - 1);
}

std::size_t TiltedBins::draw_first(double uniform) const {
  const std::size_t n = mixture_.bins();
  if (power_ == 1)
    return std::min(n - 1, static_cast<std::size_t>(uniform * static_cast<double>(n)));
  const auto found = std::ranges::upper_bound(cumulative_, uniform * cumulative_.back());
  return std::min<std::size_t>(found - cumulative_.begin(), n - 1);
}

namespace {

// Returns log mean exp(a y_i - a^2 G_ii / 2).
double log_mean_exp(const BinMixture& mixture, std::span<const double> y, double a, double sigma) {
  const double half = a * a / (2 * sigma * sigma);
  const std::span<const double> squares = mixture.squares();
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < y.size(); ++i) {
    largest = std::max(largest, a * y[i] - half * squares[i]);
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    sum += std::exp(a * y[i] - half * squares[i] - largest);
  }
  return largest + std::log(sum / static_cast<double>(y.size()));
}

}  // namespace

TiltedBins::Draw TiltedBins::draw(PublicRandom& random, Workspace& workspace) const {
  const std::size_t n = mixture_.bins();
  workspace.normals.resize(mixture_.normals());
  workspace.view.resize(n);
  workspace.weights.resize(n);
  const std::span<double> y = workspace.view;
  random.normals(workspace.normals);
  mixture_.view(workspace.normals, y);
  for (double& at : y) at /= sigma_;

  const auto shift_by = [&](std::size_t bin) {
    const double factor = stretch_ / (sigma_ * sigma_);
    for (std::size_t j = 0; j < n; ++j) y[j] += factor * mixture_.row(bin)[j];
  };
  const std::size_t first = draw_first(random.uniform());
  shift_by(first);
  if (power_ > 1) {
    std::copy_n(pairs_.begin() + static_cast<std::ptrdiff_t>(first * n), n,
                workspace.weights.begin());
    const std::size_t second = draw_by(workspace.weights, random.uniform());
    shift_by(second);
    if (power_ > 2) {
      for (std::size_t k = 0; k < n; ++k) {
        workspace.weights[k] = likeness_[first * n + k] * likeness_[second * n + k];
      }
      shift_by(draw_by(workspace.weights, random.uniform()));
    }
  }
  const double log_ratio = log_mean_exp(mixture_, y, 1.0, sigma_);
  const double log_base = stretch_ > 1 ? log_mean_exp(mixture_, y, stretch_, sigma_) : log_ratio;
  return {log_ratio, log_z_ - power_ * log_base};
}

}  // namespace lazydp
