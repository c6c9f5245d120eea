#include "lazydp/embedding/first_weights.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/kernels/noise.h"
#include "lazydp/random/cell.h"

namespace lazydp {

float largest_first_weight(RowId rows) {
  return 1.0f / std::sqrt(static_cast<float>(rows));
}

FirstWeights::FirstWeights(TableId table, RowId rows, const Seed& seed)
    : table_(table),
      half_width_(largest_first_weight(rows)),
      key_(seed.derive(Purpose::initialisation, table, 0)) {}

void FirstWeights::fill(RowId row, std::span<float> values) const {
  check(values.size() <= kMaxDim, "a row fits a cell");
  std::array<AesBlock, kMaxDim / 4> blocks;
  fill_random(key_, first_block({.purpose = Purpose::initialisation, .table = table_, .row = row}),
              std::span(blocks).first((values.size() + 3) / 4));
  for (std::size_t j = 0; j < values.size(); ++j) {
    const auto centred = static_cast<float>(static_cast<std::int32_t>(blocks[j / 4][j % 4]));
    values[j] = centred * 0x1p-31f * half_width_;
  }
}

void initialise(Table& table, const Seed& seed) {
  const FirstWeights first(table.id(), table.whole_rows(), seed);
  constexpr std::size_t kRows = 4096;
  parallel_blocks(static_cast<std::size_t>(table.rows()), kRows,
                  [&](std::size_t begin, std::size_t end) {
                    for (std::size_t r = begin; r < end; ++r) {
                      const auto row = static_cast<RowId>(r);
                      first.fill(table.first_row() + row, table.row(row));
                    }
                  });
}

}  // namespace lazydp
