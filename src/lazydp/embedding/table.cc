#include "lazydp/embedding/table.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <string>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/kernels/noise.h"
#include "lazydp/random/cell.h"

namespace lazydp {

namespace {

std::size_t bytes_of(RowId rows, std::size_t dim) {
  check(rows >= 0 && dim > 0, "a table has rows and columns");
  return static_cast<std::size_t>(rows) * dim * sizeof(float);
}

}  // namespace

Table::Table(TableId id, RowId rows, std::size_t dim) : Table(id, {0, rows}, rows, dim) {
  check(rows > 0, "a table has rows");
}

Table::Table(TableId id, RowRange here, RowId whole, std::size_t dim)
    : id_(id),
      rows_(here.count),
      part_(here.first),
      whole_(whole),
      dim_(dim),
      owned_(bytes_of(here.count, dim)),
      weights_(static_cast<float*>(owned_.data())) {
  check(here.first >= 0 && here.first + here.count <= whole, "a part lies within its table");
}

Table Table::borrow(TableId id, std::span<float> weights, std::size_t dim) {
  check(dim > 0 && weights.size() % dim == 0, "borrowed weights are whole rows");
  return {id, weights.data(), static_cast<RowId>(weights.size() / dim), dim};
}

Table Table::scattered(TableId id, RowId rows, std::size_t dim, float* weights,
                       const std::uint32_t* places) {
  Table table(id, weights, rows, dim);
  table.places_ = places;
  return table;
}

Table Table::window(const Table& of, RowId first, std::span<float> weights) {
  check(weights.size() % of.dim_ == 0, "a window is whole rows");
  Table table(of.id_, weights.data(), of.rows_, of.dim_);
  table.first_ = first;
  table.part_ = of.part_;
  table.whole_ = of.whole_;
  return table;
}

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
