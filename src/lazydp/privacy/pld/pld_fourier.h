#pragma once
// Discrete Fourier transforms of real signals, in double precision.

#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

namespace lazydp {

class Fourier {
 public:
  // `size`: an even number of points, fastest for a power of two.
  explicit Fourier(std::size_t size);
  ~Fourier();
  Fourier(const Fourier&) = delete;
  Fourier& operator=(const Fourier&) = delete;

  // The frequencies 0 ... size/2; those above mirror them.
  std::vector<std::complex<double>> spectrum(const std::vector<double>& signal) const;
  // Its inverse.
  std::vector<double> signal(const std::vector<std::complex<double>>& spectrum) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace lazydp
