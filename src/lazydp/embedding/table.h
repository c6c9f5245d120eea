#pragma once
// The weights of one embedding table.

#include <cstddef>
#include <span>

#include "lazydp/base/huge_memory.h"
#include "lazydp/base/types.h"

namespace lazydp {

// rows x dim floats. Knows nothing of gradients, noise or privacy.
class Table {
 public:
  // Zeros, in huge pages where the system has them.
  Table(TableId id, RowId rows, std::size_t dim);

  // The weights stay the caller's and must outlive the table.
  static Table borrow(TableId id, std::span<float> weights, std::size_t dim);

  TableId id() const { return id_; }
  RowId rows() const { return rows_; }
  std::size_t dim() const { return dim_; }
  std::size_t bytes() const { return static_cast<std::size_t>(rows_) * dim_ * sizeof(float); }

  std::span<float> row(RowId r) { return {weights_ + static_cast<std::size_t>(r) * dim_, dim_}; }
  std::span<const float> row(RowId r) const {
    return {weights_ + static_cast<std::size_t>(r) * dim_, dim_};
  }

 private:
  Table(TableId id, float* weights, RowId rows, std::size_t dim)
      : id_(id), rows_(rows), dim_(dim), weights_(weights) {}

  TableId id_;
  RowId rows_;
  std::size_t dim_;
  HugeMemory owned_;
  float* weights_;
};

}  // namespace lazydp
