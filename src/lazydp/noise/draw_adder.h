#pragma once
// Draws noise for rows of a table, whatever cells it comes from.

#include <array>
#include <span>

#include "lazydp/embedding/table.h"
#include "lazydp/noise/catch_up.h"
#include "lazydp/noise/history.h"
#include "lazydp/random/noise_source.h"

namespace lazydp {

// Passes draws to the kernels, those that share a key in one call. The key of one draw often serves
// the next: deriving it takes as long as the noise of some rows.
class DrawAdder {
 public:
  // Both must outlive it.
  DrawAdder(const NoiseSource& noise, Table& table) : noise_(noise), table_(table) {}

  // Adds the draws, in this order, to the rows of the table.
  void add(std::span<const LateRow> late, std::span<const Draw> draws);

  // Writes the normals of the draws to `normals`, one row after the other.
  void sample(std::span<const LateRow> late, std::span<const Draw> draws, std::span<float> normals);

 private:
  // Calls row_of(i) for draw i, and fills in which noise the row draws; none if its std is 0.
  template <class RowOf>
  void pass_on(std::span<const LateRow> late, std::span<const Draw> draws, RowOf&& row_of);

  const NoiseSource& noise_;
  Table& table_;
  bool known_ = false;
  KeyedCells keyed_;
};

}  // namespace lazydp
