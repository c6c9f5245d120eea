#include "lazydp/noise/correlation.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "lazydp/base/error.h"

namespace lazydp {

Correlation::Correlation(std::span<const double> bands) : count_(bands.size()) {
  if (bands.empty() || bands.size() > kMostBands) {
    throw UserError("noise is correlated over " + std::to_string(bands.size()) +
                    " steps; it must be 1 (independent noise) to " + std::to_string(kMostBands));
  }
  if (bands[0] != 1.0 || !std::ranges::all_of(bands, [](double d) { return std::isfinite(d); })) {
    throw UserError("the bands of correlated noise must be finite, and the first of them 1");
  }
  std::ranges::copy(bands, bands_.begin());
}

Step Correlation::first_cell(Step t) const {
  return std::max(before_block_, t - std::min(t, static_cast<Step>(count_))) + 1;
}

}  // namespace lazydp
