#pragma once
// The weights of one embedding table, and their first values.

#include <cstddef>
#include <cstdint>
#include <span>

#include "lazydp/base/memory.h"
#include "lazydp/base/types.h"

namespace lazydp {

// A share of a table's rows, so that several threads can work on one table without conflict.
//
// Sixteen neighbouring rows (a cache line of history) belong to one share. A thread that works on a
// share sees all ids and skips those of other shares, so a row's updates keep their order and the
// result does not depend on the number of shares.
struct Share {
  std::size_t index = 0;
  std::size_t count = 1;

  bool owns(RowId row) const {
    return count == 1 || (static_cast<std::uint64_t>(row) >> 4) % count == index;
  }
};

// A range of neighbouring rows.
struct RowRange {
  RowId first = 0;
  RowId count = 0;
};

// rows x dim floats, which the table owns or borrows. Knows nothing of gradients, noise or privacy.
//
// It may be a part of a table whose other rows another rank holds: rows are then numbered from 0
// here, and row r is row first_row() + r of whole_rows().
class Table {
 public:
  // Makes a table of zeros, in huge pages where the system has them.
  Table(TableId id, RowId rows, std::size_t dim);

  // Makes the part `here` of a table that has `whole` rows; the part may be empty.
  Table(TableId id, RowRange here, RowId whole, std::size_t dim);

  // Returns a view of the caller's weights, which must outlive the table.
  static Table borrow(TableId id, std::span<float> weights, std::size_t dim);

  // Returns a view in which row r lies in slot places[r] - 1 of `weights`, if it has a slot: see
  // RowFile.
  static Table scattered(TableId id, RowId rows, std::size_t dim, float* weights,
                         const std::uint32_t* places);

  // Returns a view of some rows of `of`, from `first` on, which `weights` holds. They keep their
  // ids.
  static Table window(const Table& of, RowId first, std::span<float> weights);

  // Returns a view of all of the rows of `of`, which must outlive it.
  static Table view(Table& of);

  TableId id() const { return id_; }
  RowId rows() const { return rows_; }
  RowId first_row() const { return part_; }
  RowId whole_rows() const { return whole_; }
  std::size_t dim() const { return dim_; }
  std::size_t bytes() const { return static_cast<std::size_t>(rows_) * dim_ * sizeof(float); }

  std::span<float> row(RowId r) { return {weights_ + place(r) * dim_, dim_}; }
  std::span<const float> row(RowId r) const { return {weights_ + place(r) * dim_, dim_}; }

  // For kernels that address many rows by slot: row r is the floats from place(r) * dim() on.
  bool in_order() const { return places_ == nullptr; }  // place(r) is r
  std::size_t place(RowId r) const {
    if (places_ == nullptr) return static_cast<std::size_t>(r - first_);
    return std::size_t{places_[static_cast<std::size_t>(r)]} - 1;
  }
  float* weights() { return weights_; }
  const float* weights() const { return weights_; }

 private:
  Table(TableId id, float* weights, RowId rows, std::size_t dim)
      : id_(id), rows_(rows), whole_(rows), dim_(dim), weights_(weights) {}

  TableId id_;
  RowId rows_;
  RowId part_ = 0;  // first row of the part
  RowId whole_;
  std::size_t dim_;
  HugeMemory owned_;
  float* weights_;
  const std::uint32_t* places_ = nullptr;
  RowId first_ = 0;
};

}  // namespace lazydp
