#include "lazydp/embedding/table.h"

#include <cstddef>
#include <string>

#include "lazydp/base/error.h"

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

Table Table::view(Table& of) {
  Table table(of.id_, of.weights_, of.rows_, of.dim_);
  table.part_ = of.part_;
  table.whole_ = of.whole_;
  table.places_ = of.places_;
  table.first_ = of.first_;
  return table;
}

}  // namespace lazydp
