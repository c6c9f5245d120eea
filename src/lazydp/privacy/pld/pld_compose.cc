#include "lazydp/privacy/pld/pld_compose.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <kissfft/kissfft.hh>
#include <numbers>
#include <span>

#include "lazydp/base/error.h"

namespace lazydp {

// A real signal of 2n points is transformed as n complex ones: pairs of neighbours.
struct Fourier::Plan {
  explicit Plan(std::size_t points) : half(points / 2), transform(half, false) {}
  std::size_t half;
  kissfft<double> transform;
};

Fourier::Fourier(std::size_t size) : plan_(std::make_unique<Plan>(size)) {
  check(size >= 4 && size % 2 == 0, "Fourier transforms have an even size");
}

Fourier::~Fourier() = default;

std::vector<std::complex<double>> Fourier::spectrum(const std::vector<double>& signal) const {
  check(signal.size() == 2 * plan_->half, "signal has the size of its transform");
  std::vector<std::complex<double>> spectrum(plan_->half + 1);
  plan_->transform.transform_real(signal.data(), spectrum.data());
  spectrum[plan_->half] = spectrum[0].imag();  // kissfft packs both real frequencies into the first
  spectrum[0] = spectrum[0].real();
  return spectrum;
}

std::vector<double> Fourier::signal(const std::vector<std::complex<double>>& spectrum) const {
  const std::size_t half = plan_->half;
  check(spectrum.size() == half + 1, "spectrum has the size of its transform");
  // Conjugated on the way in and out, the forward transform is the inverse one.
  std::vector<std::complex<double>> pairs(half);
  for (std::size_t k = 0; k < half; ++k) {
    const std::complex<double> mirror = std::conj(spectrum[half - k]);
    const double angle = std::numbers::pi * static_cast<double>(k) / static_cast<double>(half);
    const std::complex<double> odd = (spectrum[k] - mirror) * std::polar(1.0, angle);
    const std::complex<double> even = spectrum[k] + mirror;
    pairs[k] = std::conj(even + std::complex<double>(-odd.imag(), odd.real()));
  }
  std::vector<std::complex<double>> out(half);
  plan_->transform.transform(pairs.data(), out.data());
  std::vector<double> signal(2 * half);
  const double scale = 0.5 / static_cast<double>(half);
  for (std::size_t k = 0; k < half; ++k) {
    signal[2 * k] = out[k].real() * scale;
    signal[2 * k + 1] = -out[k].imag() * scale;
  }
  return signal;
}

namespace {

using Complex = std::complex<double>;

// The error of a spectrum of total mass 1: some four roundings in each stage of the transform.
constexpr double kErrorPerStage = 1e-15;
// A frequency of at most this magnitude is taken for zero.
constexpr double kFaded = 1e-30;

// Returns a whole number of any size modulo `points`.
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

// Returns the characteristic function of the total loss at one frequency, from those of the nodes,
// each off by `error` at most: |prod (z + e)^n - prod z^n| <= prod (|z| + e)^n * sum n e / (|z| +
// e).
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
    // The inverse transform errs too.
    const double total = product.error + error * std::abs(product.value);
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
