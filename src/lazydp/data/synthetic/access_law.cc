#include "lazydp/data/synthetic/access_law.h"

#include <algorithm>
#include <cmath>

#include "lazydp/base/error.h"

namespace lazydp {

namespace {

// (e^x - 1) / x and log(1 + x) / x, also at 0: they keep exponents near 1 exact.
double expm1_ratio(double x) {
  return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1.0 + x / 2.0;
}

// log(1 + x) is four times as fast as log1p(x), and good to 14 digits where x is not small.
double log1p_ratio(double x) {
  if (std::abs(x) > 0.01) return std::log(1.0 + x) / x;
  return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1.0 - x / 2.0;
}

}  // namespace

// Numbers ranks from 1 as the paper does: rank k owns the integrals between those of k - 1/2 and k
// + 1/2, of which only the last density(k) are accepted. Rank 1, where the density is steepest,
// gets an interval of exactly density(1) = 1.
Zipf::Zipf(std::uint64_t ranks, double exponent)
    : ranks_(static_cast<double>(ranks)), exponent_(exponent) {
  check(ranks >= 1 && ranks <= std::uint64_t{1} << 40, "number of ranks");
  check(exponent > 0.0 && exponent <= kMaxZipfExponent, "exponent of Zipf's law");
  first_area_ = integral(1.5) - 1.0;
  last_area_ = integral(ranks_ + 0.5);
  always_ = 2.0 - inverse(integral(2.5) - density(2.0));
}

std::optional<std::uint64_t> Zipf::propose(double uniform) const {
  const double area = last_area_ + uniform * (first_area_ - last_area_);
  const double x = inverse(area);
  const double upper = std::min(x, ranks_) + 0.5;
  const auto nearest = std::max(std::int64_t{1}, static_cast<std::int64_t>(upper));
  const auto k = static_cast<double>(nearest);
  if (k - x > always_ && area < integral(k + 0.5) - density(k)) return std::nullopt;
  return static_cast<std::uint64_t>(nearest - 1);
}

double Zipf::density(double x) const {
  return std::exp(-exponent_ * std::log(x));
}

// Returns (x^(1 - s) - 1) / (1 - s), which is log(x) at s = 1.
double Zipf::integral(double x) const {
  const double log_x = std::log(x);
  return expm1_ratio((1.0 - exponent_) * log_x) * log_x;
}

// Clamps, because rounding may take 1 + (1 - s) area just below 0 at the far end of a steep law.
double Zipf::inverse(double area) const {
  const double t = std::max((1.0 - exponent_) * area, -1.0);
  return std::exp(log1p_ratio(t) * area);
}

namespace {

// Sums the head term by term, and the tail by its integral between half-integers, which is off by
// less than 1e-10 of it this far out.
double generalised_harmonic(double n, double s) {
  const double head = std::min(n, 1e5);
  double sum = 0.0;
  for (double k = 1.0; k <= head; k += 1.0) sum += std::pow(k, -s);
  if (n <= head) return sum;
  const double from = head + 0.5;
  const double to = n + 0.5;
  const double tail = std::abs(s - 1.0) < 1e-9
                          ? std::log(to / from)
                          : (std::pow(to, 1.0 - s) - std::pow(from, 1.0 - s)) / (1.0 - s);
  return sum + tail;
}

}  // namespace

AccessOdds::AccessOdds(AccessLaw law, RowId rows)
    : law_(law),
      scatter_(static_cast<std::uint64_t>(rows)),
      norm_(generalised_harmonic(static_cast<double>(rows), law.zipf_exponent)) {}

double AccessOdds::probability(std::uint64_t rank) const {
  return std::pow(static_cast<double>(rank) + 1.0, -law_.zipf_exponent) / norm_;
}

}  // namespace lazydp
