#pragma once
// Gradients of a table by row, of examples or units whose terms may cancel.

#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/clip/table_norms.h"
#include "lazydp/embedding/pooling.h"

namespace lazydp {

// The gradients that groups of examples give a table. A group is one example, or the examples of a
// unit; it has each of its rows once, either in `once` or in `merged`.
struct RowGradients {
  // The bags of each call without the rows that occur several times in their group. Weights are
  // coefficients, whatever the pooling was; the gradients are those of the call.
  std::vector<Bags> once;

  Bags merged;                     // rows that occur several times, one a bag, group after group
  Matrix values;                   // merged.size() x dim: gradient of the row for the group
  std::vector<std::size_t> first;  // index of group g's first merged row; the last is their number
};

// Group g has the examples [starts[g], starts[g + 1]): its gradient is the sum of theirs. Sums, in
// double precision, the terms of a row that occurs several times in a group, over all bags of all
// calls: terms may cancel, so that the norm of their sum and the sum of the terms could belong to
// different gradients. A caller that scales the gradients of `once` and the values of `merged`, and
// applies these, applies what was measured.
//
// Adds to squared[g] the squared norm of group g's gradient.
RowGradients merge_rows(std::span<const TableCall> calls, std::span<const std::size_t> starts,
                        std::span<double> squared);

}  // namespace lazydp
