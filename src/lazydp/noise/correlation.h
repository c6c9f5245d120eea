#pragma once
// Correlates the noise of the steps of a run: what one step adds, later ones take back in part.

#include <array>
#include <cstddef>
#include <span>

#include "lazydp/base/types.h"

namespace lazydp {

// The noise on the sum of step i is sigma C_i (d_0 z_i + d_1 z_{i-1} + … + d_{b-1} z_{i-b+1}): C_i
// is the clip norm of step i, z_k the standard normals of the cell of step k, and the bands d the
// first column of the inverse of a lower-triangular Toeplitz matrix. One band is independent noise.
//
// A block is a run of steps under one noise key. The cells of the steps before a block are zero:
// their key is gone.
class Correlation {
 public:
  static constexpr std::size_t kMostBands = 64;

  Correlation() = default;  // independent noise

  // Throws UserError unless there are 1 to kMostBands finite bands, the first of them 1.
  explicit Correlation(std::span<const double> bands);

  std::span<const double> bands() const { return std::span(bands_).first(count_); }
  bool independent() const { return count_ == 1; }

  // Begins a block with the step after this one. Step 1 begins the first.
  void begin_block_after(Step step) { before_block_ = step; }
  Step before_block() const { return before_block_; }

  // Returns the first cell that step t uses; the last is t, a cell being numbered by the step at
  // which it is new.
  Step first_cell(Step t) const;

  bool operator==(const Correlation&) const = default;

 private:
  std::array<double, kMostBands> bands_ = {1.0};  // zeros behind the last
  std::size_t count_ = 1;
  Step before_block_ = 0;
};

}  // namespace lazydp
