#include "lazydp/data/synthetic/access_law.h"

#include <algorithm>
#include <cmath>

namespace lazydp {
namespace {

// The head one by one; the tail by its integral between half-integers, which is off by less than
// 1e-10 of it this far out.
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
