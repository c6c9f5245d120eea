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

// The noise of all rows of one table at one step, in the form that the kernels need.
struct NoiseCells {
  AesKey key;
  RowCounters counters;
  unsigned normals_per_sample = 1;

  // Updates each row: values = shrink * values + std * (the row's normals).
  void add(std::span<const NoisyRow> rows, std::size_t dim) const {
    if (normals_per_sample == 1) return add_noise(key, counters, rows, dim);
    add_sums(rows, dim);
  }

 private:
  void add_sums(std::span<const NoisyRow> rows, std::size_t dim) const;
};

// The cells of one table that share a key: those of steps first … last, of either kind. A row finds
// its own by cell_offset().
struct KeyedCells {
  NoiseCells cells;
  Step first = 0;
  Step last = 0;

  bool hold(Step t) const { return first <= t && t <= last; }
};

// Gives the same noise for the same arguments, whatever the thread, the order of calls or the
// instruction set. Has no state that advances.
class NoiseSource {
 public:
  // Every normal is the sum of `normals_per_sample` normals of variance 1 / normals_per_sample.
  // With several, the gaps between the floating-point numbers that noise can take reveal less of
  // the value it was added to (Holohan and Braghin 2021; Opacus' secure mode adds up four).
  explicit NoiseSource(const Seed& seed, unsigned normals_per_sample = 1);
  static constexpr unsigned kMostDraws = 16;

  // Returns the noise of a table at step t. `rows` and `dim` are those of the table: they decide
  // how many steps share a key, so that no key encrypts more than 2^44 blocks. Throws UserError for
  // a table that is too large even so. `purpose` is table_noise, or momentum_noise for a second,
  // independent normal.
  NoiseCells table(TableId table, RowId rows, std::size_t dim, CellKind kind, Step t,
                   Purpose purpose = Purpose::table_noise) const;

  // Returns the cells, for table noise, that share a key with those of step t.
  KeyedCells sharing_a_key(TableId table, RowId rows, std::size_t dim, Step t) const;

  static constexpr int kMaxStepBits = 10;  // a key serves at most 1,024 steps

  // Returns whether the cells of steps s and t share a key in all but the largest tables.
  static bool mostly_share_a_key(Step s, Step t) { return (s ^ t) >> kMaxStepBits == 0; }

  // Returns the noise of dense weights, as rows of kDenseRow weights each.
  NoiseCells dense(Step t) const;
  static constexpr std::size_t kDenseRow = 1024;

 private:
  Seed seed_;
  unsigned normals_per_sample_;
};

}  // namespace lazydp
