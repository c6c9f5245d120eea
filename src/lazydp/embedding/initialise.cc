#include "lazydp/embedding/initialise.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/kernels/noise.h"
#include "lazydp/random/cell.h"

namespace lazydp {

void initialise(Table& table, const Seed& seed) {
  check(table.dim() <= kMaxDim, "a row fits a cell");
  const AesKey key = seed.derive(Purpose::initialisation, table.id(), 0);
  const float half_width = 1.0f / std::sqrt(static_cast<float>(table.rows()));
  constexpr std::size_t kRows = 4096;
  parallel_blocks(
      static_cast<std::size_t>(table.rows()), kRows, [&](std::size_t begin, std::size_t end) {
        std::array<AesBlock, kMaxDim / 4> blocks;
        for (std::size_t r = begin; r < end; ++r) {
          const auto row = static_cast<RowId>(r);
          const std::span<float> values = table.row(row);
          fill_random(
              key,
              first_block({.purpose = Purpose::initialisation, .table = table.id(), .row = row}),
              std::span(blocks).first((values.size() + 3) / 4));
          for (std::size_t j = 0; j < values.size(); ++j) {
            const auto centred =
                static_cast<float>(static_cast<std::int32_t>(blocks[j / 4][j % 4]));
            values[j] = centred * 0x1p-31f * half_width;
          }
        }
      });
}

}  // namespace lazydp
