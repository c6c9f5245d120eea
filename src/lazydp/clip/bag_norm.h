#pragma once
// The norm of one example's gradient of one table, without forming it.

#include <cstddef>
#include <span>
#include <vector>

#include "lazydp/base/matrix.h"
#include "lazydp/data/batch.h"
#include "lazydp/embedding/pooling.h"

namespace lazydp {

// One look-up of a table: example i's bag, and the gradient of its pooled vector.
struct Lookup {
  const Bags* bags = nullptr;
  Pooling mode = Pooling::sum;
  ConstMatrixView gradients;  // examples x dim
};

// Sum over distinct rows u of the bag of (total coefficient of u)^2. An id that occurs m times
// counts m^2, not m: that is the trap which voids a guarantee. `scratch` is working memory.
struct Occurrence {
  RowId row = 0;
  float coefficient = 0.0f;
};
float squared_coefficients(const Bags& bags, Pooling mode, std::size_t example,
                           std::vector<Occurrence>& scratch);

// Squared norm of example i's gradient of a table that the model looks up at several places: sum
// over rows u of |sum over look-ups k of a_uk d_k|^2 = sum over pairs of look-ups (d_k . d_l)
// (sum over u of a_uk a_ul).
float squared_table_norm(std::span<const Lookup> lookups, std::size_t example,
                         std::vector<Occurrence>& scratch);

}  // namespace lazydp
