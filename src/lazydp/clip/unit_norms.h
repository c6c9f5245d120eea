#pragma once
// Norms of units' gradients: the means of several examples' gradients, whose terms may cancel.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/clip/table_norms.h"
#include "lazydp/data/batch.h"
#include "lazydp/embedding/pooling.h"
#include "lazydp/model/model.h"

namespace lazydp {

// The part of the lengths of a sum's terms that is added to the length of the sum.
//
// Roundings are relative to the terms, and where terms cancel their sum may be far shorter than
// any of them: neither the norm that is computed nor the sum that is applied is then that of the
// exact sum. With L the sum of the lengths |x_s||d_s| of a unit's terms, and u = 2^-24,
//   - the product over the batch moves the unit's part by at most 1026 u L < 6.2e-5 L: a term takes
//     part in at most kRowsAtOnce = 1024 additions in single precision, whatever the batch;
//   - scaling the output gradients by the clip factor: u L;
//   - a norm from pairs, in double, is off by at most sqrt((m + n + K^2) 2^-53) L < 9e-5 L for
//     K <= 8192 terms and layers of up to 10^7 weights a row; one from the matrix is off by what
//     the product's own roundings are, 6.2e-5 L;
//   - a row of a table that N look-ups of the batch share: (N + 2) u L < 4.9e-4 L for N <= 8190.
// Every line is below half of kRounding. The other half is for the roundings of other units' terms,
// which change when a unit joins: after clipping, the lengths of a unit's terms add up to at most
// C / kRounding, so that its part of them, 6.2e-5 C / kRounding, is 0.07 C at the very worst, and
// about that of a single example of the same batch, N u C, in batches of a million.
//
// A constant: if it followed the number of examples drawn, the presence of one unit would change
// how others are clipped.
inline constexpr double kRounding = 0x1p-10;

// Weighs every example by one over the number of examples of its unit. Returns no weights, which
// mean ones, where every example is its own unit.
std::span<const float> mean_weights(const Batch& batch, std::vector<float>& weights);

// Returns the number of units in a task of about `examples` examples.
std::size_t units_per_task(const Batch& batch, std::size_t examples);

// Lengths of a unit's terms in a layer, added up.
struct TermLengths {
  double weight = 0.0;  // of |x||d|
  double bias = 0.0;    // of |d|
};
TermLengths term_lengths(const LayerTrace& layer, const UnitExamples& unit);

// Returns the square of length + kRounding x terms, the bound by which a sum is clipped. NaN or
// infinite if either is.
inline double squared_bound(double length, double terms) {
  const double bound = length + kRounding * terms;
  return bound * bound;
}

// Bounds the norm of a unit's gradient without forming more than a tile of it. Keeps its memory
// from unit to unit; each thread has its own.
class UnitNorms {
 public:
  // Returns the bound for weight and bias of a layer, squared: by products of pairs, K²(m + n), or
  // by the matrix, K m n, whichever takes less.
  double squared_layer(const LayerTrace& layer, const UnitExamples& unit);

  // Returns the bound for a table, squared. Look-ups of a row are merged over all examples of the
  // unit before the row is measured.
  double squared_table(const Bags& bags, Pooling mode, ConstMatrixView gradients,
                       const UnitExamples& unit);

  // Returns the bound for all tables, squared.
  double squared_tables(const Tape& tape, const Batch& batch, Pooling mode,
                        const UnitExamples& unit);

 private:
  double weight_by_pairs(const LayerTrace& layer, const UnitExamples& unit);
  double weight_by_matrix(const LayerTrace& layer, const UnitExamples& unit);
  double bias(const LayerTrace& layer, const UnitExamples& unit);

  // An occurrence of a row in a bag of the unit.
  struct Use {
    std::size_t example = 0;
    double coefficient = 0.0;
    std::uint32_t next = 0;  // the row's next occurrence, plus one; 0: there is none
  };
  // A row's first and last occurrence.
  struct Occurrences {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  double squared_row(const Occurrences& row, ConstMatrixView gradients, const UnitExamples& unit);
  void find_rows(const Bags& bags, Pooling mode, const UnitExamples& unit);

  std::vector<double> inputs_gram_;
  std::vector<double> gradients_gram_;
  Matrix tile_;
  RowNumbers numbers_;
  std::vector<Use> uses_;
  std::vector<Occurrences> rows_;
  std::vector<double> lengths_;  // of the examples' gradients of a table
  std::vector<double> total_;
};

}  // namespace lazydp
