#include "lazydp/privacy/pld/pld_fourier.h"

#include <cmath>
#include <kissfft/kissfft.hh>
#include <numbers>

#include "lazydp/base/error.h"

namespace lazydp {

// A real signal of 2n points is n complex ones: pairs of neighbours.
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

}  // namespace lazydp
