#pragma once
// Composes independent lattice losses by Fourier transform, and bounds the rounding error.

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

#include "lazydp/privacy/pld/pld_sum.h"

namespace lazydp {

// Discrete Fourier transforms of real signals, in double precision.
class Fourier {
 public:
  // `size` is an even number of points, fastest for a power of two.
  explicit Fourier(std::size_t size);
  ~Fourier();
  Fourier(const Fourier&) = delete;
  Fourier& operator=(const Fourier&) = delete;

  // Returns the frequencies 0 ... size/2; those above mirror them.
  std::vector<std::complex<double>> spectrum(const std::vector<double>& signal) const;
  // Returns the inverse transform.
  std::vector<double> signal(const std::vector<std::complex<double>>& spectrum) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

// Equally spaced total losses.
struct Lattice {
  double shift, spacing;
  double first;  // a whole number
  std::size_t points;

  double loss(std::size_t j) const { return shift + (first + static_cast<double>(j)) * spacing; }
};

// The tilted law of the total loss, wrapped around the lattice: mass[j] holds the mass on loss(j)
// or a multiple of points * spacing away from it. Multiply by exp(log_scale - tilt * loss) to
// untilt.
struct ComposedLoss {
  std::vector<double> mass;
  double log_scale;
  double error_norm;  // bounds the L2 norm of the rounding error in `mass`
};

// Composes `sum`, whose atoms must lie on multiples of the lattice's spacing; its shift is the
// lattice's.
ComposedLoss compose(const LossSum& sum, double tilt, const Lattice& lattice);

}  // namespace lazydp
