#include "lazydp/privacy/phases.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "lazydp/privacy/composition.h"

namespace lazydp {
namespace {

constexpr std::size_t kFewMechanisms = 32;  // up to so many are composed exactly
constexpr std::size_t kFewValues = 4;
constexpr std::size_t kPointsAlone = 64;     // lattice points when only one parameter varies
constexpr std::size_t kPointsTogether = 24;  // lattice points when both do

using StepsOf = std::map<std::pair<double, double>, std::uint64_t>;

void add(const SampledGaussian& event, StepsOf& steps) {
  steps[{event.sampling_rate, event.noise_multiplier}] += event.steps;
}

void add(const Gaussian& event, StepsOf& steps) {
  add(SampledGaussian{1.0, event.noise_multiplier, event.steps}, steps);
}

void add(const CorrelatedGaussian& event, StepsOf& steps) {
  add(as_one_gaussian(event), steps);
}

StepsOf steps_of(const Ledger& ledger) {
  StepsOf steps;
  for (const PrivacyEvent& event : ledger.events()) {
    std::visit([&](const auto& use) { add(use, steps); }, event);
  }
  return steps;
}

Phases one_node_each(const StepsOf& steps) {
  Phases result;
  for (const auto& [mechanism, count] : steps) {
    result.phases.push_back({{{result.nodes.size(), 1.0}}, count});
    result.nodes.push_back({mechanism.first, mechanism.second});
  }
  return result;
}

// The lattice points of one parameter: the divergences are convex in `coordinate` of it, and the
// point a fraction of the way from one end to the other is at `between`, denser where steps cost
// more.
class Axis {
 public:
  Axis(const std::set<double>& values, std::size_t points, double (*coordinate)(double),
       double (*between)(double low, double high, double fraction))
      : coordinate_(coordinate) {
    if (values.size() <= points) {
      points_.assign(values.begin(), values.end());
      return;
    }
    const double low = *values.begin();
    const double high = *values.rbegin();
    const auto last = static_cast<double>(points - 1);
    points_.push_back(low);
    for (std::size_t i = 1; i + 1 < points; ++i) {
      points_.push_back(between(low, high, static_cast<double>(i) / last));
    }
    points_.push_back(high);
  }

  struct Place {
    double low, high;  // neighbouring points
    double high_weight;
  };

  Place place(double value) const {
    const auto above = std::lower_bound(points_.begin(), points_.end(), value);
    if (*above == value) return {value, value, 0.0};
    const double low = *(above - 1);
    const double high = *above;
    const double span = coordinate_(high) - coordinate_(low);
    // A span lost to rounding leaves all the weight below, which for sigma is the safe side.
    const double weight = span > 0 ? (coordinate_(value) - coordinate_(low)) / span : 0.0;
    return {low, high, std::clamp(weight, 0.0, 1.0)};
  }

 private:
  double (*coordinate_)(double);
  std::vector<double> points_;
};

double rate_coordinate(double sampling_rate) {
  return sampling_rate;
}

double rate_between(double low, double high, double fraction) {
  return low * std::pow(high / low, fraction);
}

// 1 - total variation: it keeps its digits where sigma is small.
double noise_coordinate(double noise_multiplier) {
  return std::erfc(1.0 / (std::sqrt(8.0) * noise_multiplier));
}

double noise_between(double low, double high, double fraction) {
  return 1 / ((1 - fraction) / low + fraction / high);
}

}  // namespace

Phases exact_phases(const Ledger& ledger) {
  return one_node_each(steps_of(ledger));
}

Phases merged_phases(const Ledger& ledger) {
  const StepsOf steps = steps_of(ledger);
  if (steps.size() <= kFewMechanisms) return one_node_each(steps);

  std::set<double> rates;
  std::set<double> noises;
  for (const auto& [mechanism, count] : steps) {
    rates.insert(mechanism.first);
    noises.insert(mechanism.second);
  }
  const auto points = [](const std::set<double>& other) {
    return other.size() <= kFewValues ? kPointsAlone : kPointsTogether;
  };
  const Axis rate_axis(rates, points(noises), rate_coordinate, rate_between);
  const Axis noise_axis(noises, points(rates), noise_coordinate, noise_between);

  Phases result;
  std::map<std::pair<double, double>, std::size_t> index;
  const auto share = [&](Phase& phase, double rate, double noise, double weight) {
    if (weight <= 0) return;
    const auto [entry, is_new] = index.try_emplace({rate, noise}, result.nodes.size());
    if (is_new) result.nodes.push_back({rate, noise});
    phase.shares.push_back({entry->second, weight});
  };
  for (const auto& [mechanism, count] : steps) {
    const Axis::Place rate = rate_axis.place(mechanism.first);
    const Axis::Place noise = noise_axis.place(mechanism.second);
    Phase phase{{}, count};
    share(phase, rate.low, noise.low, (1 - rate.high_weight) * (1 - noise.high_weight));
    share(phase, rate.low, noise.high, (1 - rate.high_weight) * noise.high_weight);
    share(phase, rate.high, noise.low, rate.high_weight * (1 - noise.high_weight));
    share(phase, rate.high, noise.high, rate.high_weight * noise.high_weight);
    result.phases.push_back(std::move(phase));
  }
  return result;
}

}  // namespace lazydp
