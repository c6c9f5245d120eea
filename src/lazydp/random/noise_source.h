#pragma once
// Gaussian noise as a pure function of (seed, table, row, step).

#include <cstddef>
#include <cstdint>
#include <span>

#include "lazydp/base/types.h"
#include "lazydp/kernels/noise.h"
#include "lazydp/random/cell.h"
#include "lazydp/random/seed.h"

namespace lazydp {

// The noise of all rows of one table at one step: what the kernels need, and no more.
struct NoiseCells {
  AesKey key;
  RowCounters counters;

  // Each row: values = shrink * values + std * (the row's normals).
  void add(std::span<const NoisyRow> rows, std::size_t dim) const {
    add_noise(key, counters, rows, dim);
  }
};

// Nothing here has a state that advances. The same arguments give the same noise whatever the
// thread, the order of calls or the instruction set.
class NoiseSource {
 public:
  explicit NoiseSource(const Seed& seed) : seed_(seed) {}

  // `rows` and `dim` are those of the table: they decide how many steps share a key, so that no key
  // is asked for more than 2^44 blocks. Throws UserError for a table that is too large even so.
  NoiseCells table(TableId table, RowId rows, std::size_t dim, Draws draws, Step t) const;

  // Noise of dense weights, as rows of kDenseRow weights each.
  NoiseCells dense(Step t) const;
  static constexpr std::size_t kDenseRow = 1024;

 private:
  Seed seed_;
};

}  // namespace lazydp
