#include "lazydp/privacy/pld/pld_sum.h"

#include <algorithm>
#include <cmath>

#include "lazydp/privacy/pld/pld_loss.h"

namespace lazydp {

namespace {

Cumulant mix(const std::vector<Share>& tilted_shares, const std::vector<Cumulant>& nodes) {
  Cumulant total{0, 0, 0};
  for (const Share& share : tilted_shares) total.mean += share.weight * nodes[share.node].mean;
  for (const Share& share : tilted_shares) {
    const double distance = nodes[share.node].mean - total.mean;
    total.variance += share.weight * (nodes[share.node].variance + distance * distance);
  }
  return total;
}

// Returns the log of the mixture's moment, and replaces the shares by those of the tilted mixture.
double tilt_shares(std::vector<Share>& shares, const std::vector<Cumulant>& nodes) {
  double largest = nodes[shares.front().node].value;
  for (const Share& share : shares) largest = std::max(largest, nodes[share.node].value);
  double sum = 0;
  for (Share& share : shares) {
    share.weight *= std::exp(nodes[share.node].value - largest);
    sum += share.weight;
  }
  for (Share& share : shares) share.weight /= sum;
  return largest + std::log(sum);
}

std::vector<Cumulant> node_cumulants(const LossSum& sum, double tilt) {
  std::vector<Cumulant> nodes;
  for (const LossAtoms& atoms : sum.nodes) nodes.push_back(lazydp::cumulant(atoms, tilt));
  return nodes;
}

// The atoms are in order of loss.
double median(const LossAtoms& atoms) {
  double mass = 0;
  std::size_t i = 0;
  while (i + 1 < atoms.loss.size() && (mass += std::exp(atoms.log_mass[i])) < 0.5) ++i;
  return atoms.loss[i];
}

}  // namespace

double LossSum::steps() const {
  double total = 0;
  for (const Phase& phase : phases) total += static_cast<double>(phase.steps);
  return total;
}

bool LossSum::mixes_nodes() const {
  return std::any_of(phases.begin(), phases.end(),
                     [](const Phase& phase) { return phase.shares.size() > 1; });
}

Cumulant LossSum::cumulant(double tilt) const {
  const std::vector<Cumulant> of_node = node_cumulants(*this, tilt);
  Cumulant total{tilt * shift, shift, 0};
  std::vector<Share> shares;
  for (const Phase& phase : phases) {
    shares = phase.shares;
    const double value = tilt_shares(shares, of_node);
    const Cumulant one = mix(shares, of_node);
    const auto count = static_cast<double>(phase.steps);
    total.value += count * value;
    total.mean += count * one.mean;
    total.variance += count * one.variance;
  }
  return total;
}

std::vector<Phase> LossSum::tilted_phases(double tilt) const {
  const std::vector<Cumulant> of_node = node_cumulants(*this, tilt);
  std::vector<Phase> tilted = phases;
  for (Phase& phase : tilted) tilt_shares(phase.shares, of_node);
  return tilted;
}

LossSum LossSum::on_lattice(Bound bound, double spacing) const {
  LossSum lattice{{}, phases, shift};
  for (const LossAtoms& atoms : nodes) {
    lattice.nodes.push_back(lazydp::on_lattice(atoms, bound, spacing));
  }
  return lattice;
}

LossSum loss_sum(const Phases& phases, Direction direction, Bound bound, double reach) {
  LossSum sum{{}, phases.phases, 0};
  std::vector<double> centres;
  for (const Node& node : phases.nodes) {
    sum.nodes.push_back(loss_atoms(node, direction, bound, reach));
    centres.push_back(median(sum.nodes.back()));
  }
  // Nodes that are mixed need a common centre.
  if (sum.mixes_nodes()) {
    const double common = centres[centres.size() / 2];
    std::fill(centres.begin(), centres.end(), common);
  }
  for (std::size_t i = 0; i < centres.size(); ++i) {
    for (double& loss : sum.nodes[i].loss) loss -= centres[i];
  }
  for (const Phase& phase : phases.phases) {
    sum.shift += static_cast<double>(phase.steps) * centres[phase.shares.front().node];
  }
  return sum;
}

namespace {

constexpr double kOutside = 1e-11;       // tilted mass that may fall outside a window, on each side
constexpr double kMargin = 0.01;         // added to a window on each side, of its width
constexpr double kLatticeEffect = 1e-5;  // share of epsilon, aimed at
constexpr double kLatticeEffectMixed = 1e-4;  // where mixing nodes costs more already
constexpr std::size_t kFewestPoints = std::size_t{1} << 15;
constexpr std::size_t kMostPoints = std::size_t{1} << 20;
constexpr std::size_t kMostPointsOfAllNodes = std::size_t{1} << 24;  // 128 MB of spectra

// Returns the tilt at which `too_small` turns false, to a per cent: more digits gain nothing.
template <typename Predicate>
double turning_tilt(double guess, const Predicate& too_small) {
  double high = guess;
  double low = 0;
  for (int i = 0; i < 100 && too_small(high); ++i) {
    low = high;
    high *= 2;
  }
  if (low == 0) low = high / 2;
  for (int i = 0; i < 100 && !too_small(low); ++i) {
    high = low;
    low /= 2;
  }
  while (high > low * 1.01) {
    const double middle = std::sqrt(low * high);
    (too_small(middle) ? low : high) = middle;
  }
  return high;
}

// Returns about the least objective(t) over t > 0; it falls and then rises. Any t gives a valid
// bound.
template <typename Objective>
double least(double guess, const Objective& objective) {
  constexpr double kFactor = 1.4;
  constexpr int kTries = 24;
  double best = objective(guess);
  for (const double factor : {kFactor, 1 / kFactor}) {
    double t = guess;
    for (int i = 0; i < kTries; ++i) {
      t *= factor;
      const double value = objective(t);
      if (!(value < best)) break;
      best = value;
    }
  }
  return best;
}

double guess_of_steepness(const Cumulant& at) {
  return std::sqrt(-2 * std::log(kOutside) / std::max(at.variance, 1e-300));  // Gaussian tails
}

// Uses P_tilt(loss >= e) <= exp(K(tilt + t) - K(tilt) - t e) for every t > 0, and its mirror image.
double edge(const LossSum& sum, double tilt, const Cumulant& at, double sign) {
  return sign * least(guess_of_steepness(at), [&](double t) {
           return (sum.cumulant(tilt + sign * t).value - at.value - std::log(kOutside)) / t;
         });
}

// With u = loss - epsilon, delta is the mean of 1 - exp(-u) over u > 0. It is at most
// exp(K - tilt epsilon) times the largest exp(-tilt u) (1 - exp(-u)); the best epsilon for a tilt
// is K' - log(1 + 1/tilt), where the bound is exp(K - tilt K') / (1 + tilt).
double likely_epsilon(const Cumulant& at, double tilt) {
  return at.mean - std::log1p(1 / tilt);
}

Window window_at(const LossSum& sum, double tilt) {
  const Cumulant at = sum.cumulant(tilt);
  const double low = edge(sum, tilt, at, -1);
  const double high = edge(sum, tilt, at, +1);
  // Epsilon itself must lie inside, though no loss may come near it.
  const double wanted = std::max(0.0, likely_epsilon(at, tilt) - std::log1p(1 / tilt));
  const double margin = kMargin * (high - low);
  return {tilt, std::min(low, wanted) - margin, high + margin};
}

// Returns the variance that moving a loss to its lattice neighbours adds.
double added_variance(const LossAtoms& atoms, double tilt, double spacing) {
  const double value = cumulant(atoms, tilt).value;
  double total = 0;
  for (std::size_t i = 0; i < atoms.loss.size(); ++i) {
    const double offset = atoms.loss[i] - std::floor(atoms.loss[i] / spacing) * spacing;
    const double mass = std::exp(atoms.log_mass[i] + tilt * atoms.loss[i] - value);
    total += mass * offset * (spacing - offset);
  }
  return total;
}

}  // namespace

Window window_for_delta(const LossSum& sum, double delta) {
  const double guess = std::sqrt(-2 * std::log(delta) / sum.cumulant(0).variance);
  return window_at(sum, turning_tilt(guess, [&](double tilt) {
                     const Cumulant at = sum.cumulant(tilt);
                     return at.value - tilt * at.mean - std::log1p(tilt) > std::log(delta);
                   }));
}

Window window_for_epsilon(const LossSum& sum, double epsilon) {
  const double guess = 1 / std::sqrt(sum.cumulant(0).variance);
  return window_at(sum, turning_tilt(guess, [&](double tilt) {
                     return likely_epsilon(sum.cumulant(tilt), tilt) < epsilon;
                   }));
}

double log_tail(const LossSum& sum, double tilt, double edge, Side side) {
  const double sign = side == Side::above ? 1 : -1;
  const Cumulant at = sum.cumulant(tilt);
  return least(guess_of_steepness(at), [&](double t) {
    return sum.cumulant(tilt + sign * t).value - at.value - sign * t * edge;
  });
}

std::size_t lattice_size(const LossSum& sum, const Window& window) {
  const Cumulant at = sum.cumulant(window.tilt);
  std::vector<double> steps(sum.nodes.size(), 0.0);
  for (const Phase& phase : sum.tilted_phases(window.tilt)) {
    for (const Share& share : phase.shares) {
      steps[share.node] += share.weight * static_cast<double>(phase.steps);
    }
  }
  // Splitting keeps P's and Q's mass, so it adds tilt (tilt + 1) / 2 of the added variance to the
  // cumulant, and hence (tilt + 1) / 2 of it to epsilon.
  const double effect = sum.mixes_nodes() ? kLatticeEffectMixed : kLatticeEffect;
  const double scale = std::abs(likely_epsilon(at, window.tilt)) + 0.02 * std::sqrt(at.variance);
  const double allowed = effect * scale * 2 / (1 + window.tilt);
  std::size_t points = kFewestPoints;
  while (points < kMostPoints && points * sum.nodes.size() < kMostPointsOfAllNodes) {
    const double spacing = (window.high - window.low) / static_cast<double>(points);
    double added = 0;
    for (std::size_t i = 0; i < sum.nodes.size(); ++i) {
      added += steps[i] * added_variance(sum.nodes[i], window.tilt, spacing);
    }
    if (added <= allowed) break;
    points *= 2;
  }
  return points;
}

}  // namespace lazydp
