#include "lazydp/privacy/pld/pld_loss.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace lazydp {

namespace {

// A cell is this part of sigma wide, which moves epsilon by about 1 / (6 * 200^2) of itself, and at
// most this part of sigma^2, over which the likelihood ratio hardly changes.
constexpr double kCellsPerSigma = 200;
constexpr double kCellsPerVariance = 4;

// Gauss-Legendre on (0, 1): exact to rounding over cells this narrow.
constexpr std::array<double, 4> kPoint = {0.06943184420297371, 0.33000947820757187,
                                          0.6699905217924281, 0.9305681557970263};
constexpr std::array<double, 4> kWeight = {0.17392742256872692, 0.32607257743127307,
                                           0.32607257743127307, 0.17392742256872692};

// Cells of outputs x; the plain Gaussian's likelihood ratio is exp((x - 1/2) / sigma^2).
struct Cells {
  double sigma, low, width;
  int count;

  double edge(int i) const { return low + i * width; }
  double log_ratio(double x) const { return (x - 0.5) / (sigma * sigma); }
  double log_density(double x) const {
    return -x * x / (2 * sigma * sigma) - std::log(sigma * std::sqrt(2 * std::numbers::pi));
  }
  // Returns density(x + step) / density(x), accurate where both underflow.
  double density_ratio(double x, double step) const {
    return std::exp(-step * (2 * x + step) / (2 * sigma * sigma));
  }
};

Cells make_cells(double sigma, double reach) {
  const double low = -reach * sigma;
  const double span = 1 + 2 * reach * sigma;
  const double widest = std::min(sigma / kCellsPerSigma, sigma * sigma / kCellsPerVariance);
  const int count = static_cast<int>(std::ceil(span / widest));
  return {sigma, low, span / count, count};
}

// Returns log(1 - q + q exp(r)) without overflow or cancellation.
double subsampled_loss(double q, double r) {
  if (q == 1) return r;
  if (r > 30) return std::log(q) + r + std::log1p((1 - q) / q * std::exp(-r));
  if (q < 0.5 || r > -1) return std::log1p(q * std::expm1(r));
  return std::log((1 - q) + q * std::exp(r));
}

// Atoms of Q = N(0, sigma^2) at likelihood ratios exp(log_ratio).
struct RatioAtoms {
  std::vector<double> log_ratio, log_mass;
};

// Moves the Q-mass and the P-mass of each cell to atoms at its two edges: "connect the dots"
// (Doroshenko et al. 2022). It replaces the hockey-stick curve by its chords. The share of an edge
// is linear in the likelihood ratio, so it is the same for every sampling rate and every cell.
RatioAtoms edge_atoms(const Cells& cells) {
  std::array<double, 4> low_share{};
  const double span = cells.width / (cells.sigma * cells.sigma);
  for (std::size_t j = 0; j < 4; ++j) {
    low_share[j] = std::expm1((kPoint[j] - 1) * span) / std::expm1(-span);
  }
  RatioAtoms atoms;
  for (int i = 0; i <= cells.count; ++i) {
    const double x = cells.edge(i);
    double mass = 0;  // in units of density(x)
    for (std::size_t j = 0; j < 4; ++j) {
      const double right = kPoint[j] * cells.width;
      const double left = right - cells.width;
      if (i < cells.count) mass += kWeight[j] * low_share[j] * cells.density_ratio(x, right);
      if (i > 0) mass += kWeight[j] * (1 - low_share[j]) * cells.density_ratio(x, left);
    }
    atoms.log_ratio.push_back(cells.log_ratio(x));
    atoms.log_mass.push_back(cells.log_density(x) + std::log(mass * cells.width));
  }
  return atoms;
}

// Merges each cell into one outcome: a post-processing, so the mechanism dominates it.
RatioAtoms merged_atoms(const Cells& cells) {
  RatioAtoms atoms;
  for (int i = 0; i < cells.count; ++i) {
    const double x = cells.edge(i);
    double mass = 0;
    double other = 0;  // mass under N(1, sigma^2), in units of its density at x
    for (std::size_t j = 0; j < 4; ++j) {
      const double step = kPoint[j] * cells.width;
      const double part = kWeight[j] * cells.density_ratio(x, step);
      mass += part;
      other += part * std::exp(step / (cells.sigma * cells.sigma));
    }
    atoms.log_ratio.push_back(cells.log_ratio(x) + std::log(other / mass));
    atoms.log_mass.push_back(cells.log_density(x) + std::log(mass * cells.width));
  }
  return atoms;
}

}  // namespace

LossAtoms loss_atoms(const Node& node, Direction direction, Bound bound, double reach) {
  const Cells cells = make_cells(node.noise_multiplier, reach);
  const RatioAtoms ratios = bound == Bound::up ? edge_atoms(cells) : merged_atoms(cells);
  LossAtoms atoms;
  for (std::size_t i = 0; i < ratios.log_ratio.size(); ++i) {
    const double loss = subsampled_loss(node.sampling_rate, ratios.log_ratio[i]);
    atoms.loss.push_back(direction == Direction::remove ? loss : -loss);
    atoms.log_mass.push_back(ratios.log_mass[i] + (direction == Direction::remove ? loss : 0.0));
  }
  if (direction == Direction::add) {
    std::reverse(atoms.loss.begin(), atoms.loss.end());
    std::reverse(atoms.log_mass.begin(), atoms.log_mass.end());
  }
  return atoms;
}

double mass_beyond(double reach) {
  return std::erfc(reach / std::numbers::sqrt2);
}

Cumulant cumulant(const LossAtoms& atoms, double tilt) {
  const std::size_t n = atoms.loss.size();
  std::vector<double> logs(n);
  for (std::size_t i = 0; i < n; ++i) logs[i] = atoms.log_mass[i] + tilt * atoms.loss[i];
  const double largest = *std::max_element(logs.begin(), logs.end());
  double mass = 0;
  double mean = 0;
  for (std::size_t i = 0; i < n; ++i) {
    logs[i] = std::exp(logs[i] - largest);
    mass += logs[i];
    mean += logs[i] * atoms.loss[i];
  }
  mean /= mass;
  double variance = 0;
  for (std::size_t i = 0; i < n; ++i) {
    variance += logs[i] * (atoms.loss[i] - mean) * (atoms.loss[i] - mean);
  }
  return {largest + std::log(mass), mean, variance / mass};
}

namespace {

void put(LossAtoms& atoms, double loss, double log_mass) {
  atoms.loss.push_back(loss);
  atoms.log_mass.push_back(log_mass);
}

// Splits every atom over its two neighbours so that P and Q keep their masses: connect the dots.
LossAtoms split_up(const LossAtoms& atoms, double spacing) {
  LossAtoms lattice;
  for (std::size_t i = 0; i < atoms.loss.size(); ++i) {
    const double below = std::floor(atoms.loss[i] / spacing);
    const double offset = std::clamp(atoms.loss[i] - below * spacing, 0.0, spacing);
    const double low_share = std::expm1(spacing - offset) / std::expm1(spacing);
    const double high_share = std::expm1(-offset) / std::expm1(-spacing);
    if (low_share > 0) put(lattice, below * spacing, atoms.log_mass[i] + std::log(low_share));
    if (high_share > 0) {
      put(lattice, (below + 1) * spacing, atoms.log_mass[i] + std::log(high_share));
    }
  }
  return lattice;
}

// Merges neighbouring atoms, the last of a group in part, so that the merged loss is a lattice
// point: a post-processing, so the result is dominated. The remainder waits, at `loss` with mass
// exp(log_mass), until atoms above the next lattice point lift it there. Where these are few and
// far, it goes down to the point below instead: a smaller loss is dominated as well.
LossAtoms merge_down(const LossAtoms& atoms, double spacing) {
  constexpr double kPatience = 8;
  LossAtoms lattice;
  double loss = atoms.loss[0];
  double log_mass = atoms.log_mass[0];
  for (std::size_t i = 1; i < atoms.loss.size(); ++i) {
    const double target = std::ceil(loss / spacing) * spacing;
    const double scale = std::max(log_mass, atoms.log_mass[i]);
    const double waiting = std::exp(log_mass - scale);
    const double fresh = std::exp(atoms.log_mass[i] - scale);
    const double lack = waiting * std::expm1(target - loss);          // exp(target) Q - P
    const double gain = -fresh * std::expm1(target - atoms.loss[i]);  // P - exp(target) Q
    if (gain > lack) {
      const double used = lack / gain;
      put(lattice, target, scale + std::log(waiting + used * fresh));
      loss = atoms.loss[i];
      log_mass = atoms.log_mass[i] + std::log1p(-used);
    } else if (atoms.loss[i] > target + kPatience * spacing) {
      put(lattice, std::floor(loss / spacing) * spacing, log_mass);
      loss = atoms.loss[i];
      log_mass = atoms.log_mass[i];
    } else {
      const double rise = atoms.loss[i] - loss;
      loss -= std::log((waiting + fresh * std::exp(-rise)) / (waiting + fresh));
      log_mass = scale + std::log(waiting + fresh);
    }
  }
  put(lattice, std::floor(loss / spacing) * spacing, log_mass);
  return lattice;
}

}  // namespace

LossAtoms on_lattice(const LossAtoms& atoms, Bound bound, double spacing) {
  return bound == Bound::up ? split_up(atoms, spacing) : merge_down(atoms, spacing);
}

}  // namespace lazydp
