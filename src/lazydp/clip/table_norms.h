#pragma once
// Norms of all examples' gradients of one table, whatever the model looked up where.

#include <cstddef>
#include <span>

#include "lazydp/base/matrix.h"
#include "lazydp/data/batch.h"
#include "lazydp/embedding/pooling.h"

namespace lazydp {

// One call of a table: `bags_per_example` bags for each example, one after the other, and the
// gradient of each bag's pooled vector.
struct TableCall {
  const Bags* bags = nullptr;
  Pooling mode = Pooling::sum;
  ConstMatrixView gradients;  // bags x dim
  std::size_t bags_per_example = 1;
};

// Adds to squared[i] the squared norm of example i's gradient of the table: sum over rows u of
// |sum over occurrences of u, in any bag of any call, of coefficient x gradient of that bag|^2.
// What a row receives from different bags is added up before it is squared; what it receives from
// one bag m times counts m^2.
void add_squared_table_norms(std::span<const TableCall> calls, std::span<float> squared);

}  // namespace lazydp
