#include "lazydp/noise/dense_optimizer.h"

#include <algorithm>
#include <cmath>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

constexpr std::size_t kRow = NoiseSource::kDenseRow;

constexpr float kMomentum = 0.9f;
constexpr double kBeta1 = 0.9, kBeta2 = 0.999;
constexpr float kAdamEpsilon = 1e-8f, kAdagradEpsilon = 1e-10f;

bool has_first(DenseRule rule) {
  return rule == DenseRule::momentum || rule == DenseRule::adam;
}

bool has_second(DenseRule rule) {
  return rule == DenseRule::adam || rule == DenseRule::adagrad;
}

void descend(std::span<float> w, std::span<const float> g, float rate) {
  for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * g[i];
}

void descend_with_momentum(std::span<float> w, std::span<const float> g, float rate, float* m) {
  for (std::size_t i = 0; i < w.size(); ++i) {
    m[i] = kMomentum * m[i] + g[i];
    w[i] -= rate * m[i];
  }
}

// Kingma and Ba 2015; `t` counts from 1.
void descend_by_adam(std::span<float> w, std::span<const float> g, double rate, float* m, float* v,
                     Step t) {
  constexpr auto kB1 = static_cast<float>(kBeta1), kB2 = static_cast<float>(kBeta2);
  const auto size = static_cast<float>(rate / (1.0 - std::pow(kBeta1, t)));
  const auto root = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(kBeta2, t)));
  for (std::size_t i = 0; i < w.size(); ++i) {
    m[i] = kB1 * m[i] + (1.0f - kB1) * g[i];
    v[i] = kB2 * v[i] + (1.0f - kB2) * g[i] * g[i];
    w[i] -= size * m[i] / (std::sqrt(v[i]) * root + kAdamEpsilon);
  }
}

// Duchi, Hazan and Singer 2011.
void descend_by_adagrad(std::span<float> w, std::span<const float> g, float rate, float* v) {
  for (std::size_t i = 0; i < w.size(); ++i) {
    v[i] += g[i] * g[i];
    w[i] -= rate * g[i] / (std::sqrt(v[i]) + kAdagradEpsilon);
  }
}

}  // namespace

std::string_view dense_rule_name(DenseRule rule) {
  return std::ranges::find(kDenseRules, rule, [](const auto& named) { return named.second; })
      ->first;
}

DenseOptimizer::DenseOptimizer(DenseRule rule, std::size_t weights, const Correlation& correlation)
    : DenseOptimizer(rule, weights, {{0, weights}}, correlation) {}

DenseOptimizer::DenseOptimizer(DenseRule rule, std::size_t weights, std::vector<IndexRange> trained,
                               const Correlation& correlation)
    : rule_(rule),
      trained_(std::move(trained)),
      correlation_(correlation),
      first_(has_first(rule) ? weights : 0),
      second_(has_second(rule) ? weights : 0) {
  cells_.reserve(correlation.bands().size());
}

std::vector<std::span<float>> DenseOptimizer::state() {
  std::vector<std::span<float>> state;
  if (!first_.empty()) state.emplace_back(first_);
  if (!second_.empty()) state.emplace_back(second_);
  return state;
}

void DenseOptimizer::update(std::span<float> weights, std::span<const float> gradient, Step t,
                            const DenseStep& step, const NoiseSource& noise) {
  check(weights.size() == gradient.size(), "a gradient for each dense weight");
  ++steps_;
  cells_.clear();
  if (step.noise_std > 0.0) {
    for (Step k = t; k >= correlation_.first_cell(t); --k) cells_.push_back(noise.dense(k));
  }
  const auto scale = static_cast<float>(1.0 / step.divisor);
  // The noise is symmetric: subtracted from the gradient, it is added to the weights, as
  // everywhere.
  const double std = -step.noise_std / step.divisor;
  const std::span<const double> bands = correlation_.bands();
  parallel_blocks(weights.size(), 16 * kRow, [&](std::size_t begin, std::size_t end) {
    alignas(64) std::array<float, kRow> mean;
    for (std::size_t i = begin; i < end; i += kRow) {
      const std::size_t count = std::min(kRow, end - i);
      for (std::size_t j = 0; j < count; ++j) mean[j] = scale * gradient[i + j];
      for (std::size_t j = 0; j < cells_.size(); ++j) {
        const NoisyRow row = {mean.data(), i / kRow, 1.0f, static_cast<float>(std * bands[j])};
        cells_[j].add({&row, 1}, count);
      }
      for (const IndexRange& range : trained_) {
        const std::size_t first = std::max(i, range.first);
        const std::size_t last = std::min(i + count, range.first + range.count);
        if (first >= last) continue;
        apply(weights.subspan(first, last - first),
              std::span(mean).subspan(first - i, last - first), first, step.rate);
      }
    }
  });
}

void DenseOptimizer::apply(std::span<float> weights, std::span<const float> mean, std::size_t first,
                           double rate) {
  const auto size = static_cast<float>(rate);
  switch (rule_) {
    case DenseRule::sgd: return descend(weights, mean, size);
    case DenseRule::momentum:
      return descend_with_momentum(weights, mean, size, first_.data() + first);
    case DenseRule::adam:
      return descend_by_adam(weights, mean, rate, first_.data() + first, second_.data() + first,
                             steps_);
    case DenseRule::adagrad: return descend_by_adagrad(weights, mean, size, second_.data() + first);
  }
}

}  // namespace lazydp
