#pragma once
// The first weights of a table: uniform in ±sqrt(1 / rows), a pure function of (seed, table, row).

#include <span>

#include "lazydp/base/types.h"
#include "lazydp/embedding/table.h"
#include "lazydp/kernels/aes.h"
#include "lazydp/random/seed.h"

namespace lazydp {

// Returns a bound on the first weights of a table with so many rows.
float largest_first_weight(RowId rows);

// Computes the first weights of any row, whether or not there is memory for the table: uniform in
// ±sqrt(1 / rows), a pure function of (seed, table, row).
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
