#include "lazydp/embedding/table.h"

#include <string>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

std::size_t bytes_of(RowId rows, std::size_t dim) {
  check(rows > 0 && dim > 0, "a table has rows and columns");
  return static_cast<std::size_t>(rows) * dim * sizeof(float);
}

}  // namespace

Table::Table(TableId id, RowId rows, std::size_t dim)
    : id_(id),
      rows_(rows),
      dim_(dim),
      owned_(bytes_of(rows, dim)),
      weights_(static_cast<float*>(owned_.data())) {}

Table Table::borrow(TableId id, std::span<float> weights, std::size_t dim) {
  check(dim > 0 && weights.size() % dim == 0, "borrowed weights are whole rows");
  return {id, weights.data(), static_cast<RowId>(weights.size() / dim), dim};
}

}  // namespace lazydp
