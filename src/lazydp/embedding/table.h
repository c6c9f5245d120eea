#pragma once
// The weights of one embedding table.

#include <cstddef>
#include <cstdint>
#include <span>

#include "lazydp/base/memory.h"
#include "lazydp/base/types.h"
#include "lazydp/kernels/aes.h"
#include "lazydp/random/seed.h"

namespace lazydp {

// A share of a table's rows, so that several threads can work on one table without meeting.

// Sixteen neighbouring rows (a cache line of history) belong to one share. Whoever works on a share
// sees all ids and leaves those of others alone, so a row's updates keep their order and the result
// does not depend on the number of shares.
struct Share {
  std::size_t index = 0;
  std::size_t count = 1;

  bool owns(RowId row) const {
    return count == 1 || (static_cast<std::uint64_t>(row) >> 4) % count == index;
  }
};

// Neighbouring rows.
struct RowRange {
  RowId first = 0;
  RowId count = 0;
};

// rows x dim floats, owned or somebody else's. Knows nothing of gradients, noise or privacy.
//
// It may be a part of a table whose other rows somebody else holds: rows are then numbered from 0
// here, and row r is row first_row() + r of whole_rows().
class Table {
 public:
  // Zeros, in huge pages where the system has them.
  Table(TableId id, RowId rows, std::size_t dim);

  // The part `here` of a table that has `whole` rows; it may be empty.
  Table(TableId id, RowRange here, RowId whole, std::size_t dim);

  // The weights stay the caller's and must outlive the table.
  static Table borrow(TableId id, std::span<float> weights, std::size_t dim);

  // Row r lies at places[r] - 1 of `weights`, once it lies anywhere: see RowFile.
  static Table scattered(TableId id, RowId rows, std::size_t dim, float* weights,
                         const std::uint32_t* places);

  // Some rows of another table, from `first` on, as `weights` holds them. They go by their numbers.
  static Table window(const Table& of, RowId first, std::span<float> weights);

  TableId id() const { return id_; }
  RowId rows() const { return rows_; }
  RowId first_row() const { return part_; }
  RowId whole_rows() const { return whole_; }
  std::size_t dim() const { return dim_; }
  std::size_t bytes() const { return static_cast<std::size_t>(rows_) * dim_ * sizeof(float); }

  std::span<float> row(RowId r) { return {weights_ + place(r) * dim_, dim_}; }
  std::span<const float> row(RowId r) const { return {weights_ + place(r) * dim_, dim_}; }

  // For kernels that take many rows by their places: row r is the floats from place(r) * dim() on.
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
  RowId part_ = 0;  // where the part here begins
  RowId whole_;
  std::size_t dim_;
  HugeMemory owned_;
  float* weights_;
  const std::uint32_t* places_ = nullptr;
  RowId first_ = 0;
};

// The first weights of a table: uniform in ±sqrt(1 / rows), a pure function of (seed, table, row).

// No first weight of a table with so many rows is larger.
float largest_first_weight(RowId rows);

// The first weights of any row, whether or not there is memory for the table.
class FirstWeights {
 public:
  FirstWeights(TableId table, RowId rows, const Seed& seed);
  void fill(RowId row, std::span<float> values) const;

 private:
  TableId table_;
  float half_width_;
  AesKey key_;
};

void initialise(Table& table, const Seed& seed);

}  // namespace lazydp
