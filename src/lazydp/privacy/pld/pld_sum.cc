#include "lazydp/privacy/pld/pld_sum.h"

#include <algorithm>
#include <cmath>

#include "lazydp/privacy/pld/pld_lattice.h"

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

// log of the mixture's moment; the shares become those of the tilted mixture.
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

}  // namespace lazydp
