#include "lazydp/privacy/pld/pld_lattice.h"

#include <algorithm>
#include <cmath>

namespace lazydp {
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
// point: a post-processing, so what it gives is dominated. What is left over waits, at `loss` with
// mass exp(log_mass), until atoms above the next lattice point lift it there. Where these are few
// and far, it goes down to the point below instead: a smaller loss is dominated as well.
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
