#include "lazydp/noise/dense_update.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "lazydp/base/parallel.h"
#include "lazydp/kernels/vector.h"

namespace lazydp {

void update_dense(std::span<float> weights, std::span<const float> gradient, Step t,
                  const VarianceClock& clock, const NoiseSource& noise) {
  const Owed& owed = clock.at(t);
  const NoiseCells cells = noise.dense(t);
  constexpr std::size_t kRow = NoiseSource::kDenseRow;
  parallel_blocks(weights.size(), 16 * kRow, [&](std::size_t begin, std::size_t end) {
    add_scaled(-clock.gradient_scale(), gradient.subspan(begin, end - begin),
               weights.subspan(begin, end - begin));
    if (owed.nothing()) return;
    for (std::size_t i = begin; i < end; i += kRow) {
      const NoisyRow row = {weights.data() + i, i / kRow, static_cast<float>(owed.shrink),
                            static_cast<float>(std::sqrt(owed.variance))};
      cells.add({&row, 1}, std::min(kRow, end - i));
    }
  });
}

}  // namespace lazydp
