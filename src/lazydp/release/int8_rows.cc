#include "lazydp/release/int8_rows.h"

#include <algorithm>
#include <cmath>

#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

constexpr float kLargest = 127.0f;
constexpr std::size_t kRowsOfATask = 4096;

void round_row(std::span<const float> row, std::span<std::int8_t> values, float& scale) {
  float most = 0.0f;
  bool finite = true;
  for (const float w : row) {
    most = std::max(most, std::abs(w));
    finite = finite && std::isfinite(w);
  }
  scale = finite ? most / kLargest : std::nanf("");
  if (!(scale > 0.0f)) {  // all zero, or what is not finite
    std::ranges::fill(values, static_cast<std::int8_t>(finite ? 0 : 1));
    return;
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    const float rounded = std::nearbyint(row[i] / scale);
    values[i] = static_cast<std::int8_t>(std::clamp(rounded, -kLargest, kLargest));
  }
}

}  // namespace

Int8Rows int8_rows(std::span<const float> weights, std::size_t dim) {
  Int8Rows rows = {std::vector<std::int8_t>(weights.size()),
                   std::vector<float>(weights.size() / dim)};
  parallel_blocks(rows.scales.size(), kRowsOfATask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      round_row(weights.subspan(r * dim, dim), std::span(rows.values).subspan(r * dim, dim),
                rows.scales[r]);
    }
  });
  return rows;
}

void scale_rows(std::span<const std::int8_t> values, std::span<const float> scales,
                std::span<float> weights) {
  const std::size_t dim = weights.size() / scales.size();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] = scales[i / dim] * static_cast<float>(values[i]);
  }
}

}  // namespace lazydp
