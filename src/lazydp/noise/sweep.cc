#include "lazydp/noise/sweep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace lazydp {

void sweep(Table& table, const VarianceClock& clock, const NoiseSource& noise, Step t, RowId first,
           RowId last) {
  const Owed& owed = clock.at(t);
  const NoiseCells cells = noise.table(table.id(), table.rows(), table.dim(), Draws::each_step, t);
  const auto shrink = static_cast<float>(owed.shrink);
  const auto std = static_cast<float>(std::sqrt(owed.variance));
  std::array<NoisyRow, 256> rows;
  for (RowId begin = first; begin < last; begin += static_cast<RowId>(rows.size())) {
    const auto count =
        static_cast<std::size_t>(std::min(last - begin, static_cast<RowId>(rows.size())));
    for (std::size_t i = 0; i < count; ++i) {
      const RowId row = begin + static_cast<RowId>(i);
      rows[i] = {table.row(row).data(), static_cast<std::uint64_t>(row), shrink, std};
    }
    cells.add(std::span(rows).first(count), table.dim());
  }
}

}  // namespace lazydp
