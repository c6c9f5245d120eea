#include "lazydp/privacy/pld/pld_compose.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <span>

#include "lazydp/privacy/pld/pld_fourier.h"

namespace lazydp {
namespace {

using Complex = std::complex<double>;

// Error of a spectrum of total mass 1: some four roundings in each stage of the transform.
constexpr double kErrorPerStage = 1e-15;
// A frequency that has faded this far is called zero.
constexpr double kFaded = 1e-30;

// Whole numbers of any size, modulo `points`.
std::size_t wrap(double index, std::size_t points) {
  const auto size = static_cast<double>(points);
  const double rest = std::fmod(index, size);
  return static_cast<std::size_t>(rest < 0 ? rest + size : rest);
}

std::vector<Complex> tilted_spectrum(const LossAtoms& atoms, double tilt, const Lattice& lattice,
                                     const Fourier& fourier) {
  const double log_moment = cumulant(atoms, tilt).value;
  std::vector<double> signal(lattice.points, 0.0);
  for (std::size_t i = 0; i < atoms.loss.size(); ++i) {
    signal[wrap(std::round(atoms.loss[i] / lattice.spacing), lattice.points)] +=
        std::exp(atoms.log_mass[i] + tilt * atoms.loss[i] - log_moment);
  }
  return fourier.spectrum(signal);
}

struct Product {
  Complex value;
  double error;
};

// The characteristic function of the total loss at one frequency, from those of the nodes, each off
// by `error` at most: |prod (z + e)^n - prod z^n| <= prod (|z| + e)^n * sum n e / (|z| + e).
Product multiply(const std::vector<Phase>& phases, std::span<const Complex> nodes, double error) {
  Complex value = 1;
  double bound = 1;
  double relative = 0;
  for (const Phase& phase : phases) {
    Complex z = 0;
    for (const Share& share : phase.shares) z += share.weight * nodes[share.node];
    const auto steps = static_cast<double>(phase.steps);
    const double size = std::sqrt(std::norm(z));
    relative += steps * error / (size + error);
    bound *= phase.steps == 1 ? size + error : std::exp(steps * std::log(size + error));
    if (bound < kFaded) return {0, bound};
    value *= phase.steps == 1 ? z : std::polar(std::pow(size, steps), steps * std::arg(z));
  }
  return {value, bound * relative};
}

}  // namespace

ComposedLoss compose(const LossSum& sum, double tilt, const Lattice& lattice) {
  const Fourier fourier(lattice.points);
  std::vector<std::vector<Complex>> spectra;
  for (const LossAtoms& atoms : sum.nodes) {
    spectra.push_back(tilted_spectrum(atoms, tilt, lattice, fourier));
  }

  const std::vector<Phase> phases = sum.tilted_phases(tilt);
  const double error = kErrorPerStage * std::log2(static_cast<double>(lattice.points));
  std::vector<Complex> spectrum(lattice.points / 2 + 1);
  std::vector<Complex> nodes(spectra.size());
  double squares = 0;
  for (std::size_t k = 0; k < spectrum.size(); ++k) {
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = spectra[i][k];
    const Product product = multiply(phases, nodes, error);
    spectrum[k] = product.value;
    const double total = product.error + error * std::abs(product.value);  // the way back errs too
    squares += 2 * total * total;  // the mirrored frequency errs alike
  }

  const std::vector<double> wrapped = fourier.signal(spectrum);
  ComposedLoss result{{}, sum.cumulant(tilt).value, 0};
  result.mass.resize(lattice.points);
  const std::size_t first = wrap(lattice.first, lattice.points);
  std::rotate_copy(wrapped.begin(), wrapped.begin() + static_cast<std::ptrdiff_t>(first),
                   wrapped.end(), result.mass.begin());
  result.error_norm = std::sqrt(squares / static_cast<double>(lattice.points));  // Parseval
  return result;
}

}  // namespace lazydp
