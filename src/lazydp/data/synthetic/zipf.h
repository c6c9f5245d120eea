#pragma once
// Zipf's law over ranks: rank k is drawn with a probability proportional to 1 / (k + 1)^exponent.

#include <cstdint>
#include <optional>

namespace lazydp {

// Exact for any number of ranks up to 2^40 and any exponent in (0, kMaxZipfExponent], in constant
// time and memory: rejection-inversion (Hörmann and Derflinger 1996). The density x^-exponent is
// integrated in closed form, its integral inverted at a uniform, and the nearest rank accepted with
// just the probability that makes the continuous law the discrete one. Rarely is more than one
// uniform needed.
class Zipf {
 public:
  Zipf(std::uint64_t ranks, double exponent);

  // One rank in [0, ranks). `random.uniform()` is in (0, 1).
  template <class Random>
  std::uint64_t draw(Random& random) const {
    for (;;) {
      if (const auto rank = propose(random.uniform())) return *rank;
    }
  }

  // The rank that a uniform in (0, 1) leads to, unless it is rejected.
  std::optional<std::uint64_t> propose(double uniform) const;

 private:
  double density(double x) const;
  double integral(double x) const;  // of the density, from 1 to x
  double inverse(double area) const;

  double ranks_;
  double exponent_;
  double first_area_;  // the proposals' integrals lie between these two
  double last_area_;
  double always_;  // a proposal x at most this much below its rank is accepted without a look
};

inline constexpr double kMaxZipfExponent = 10.0;

}  // namespace lazydp
