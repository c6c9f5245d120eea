#pragma once
// Products of matrices on the calling thread, by the library that is fastest on this CPU.

#include <cstddef>
#include <string_view>

#include "lazydp/base/matrix.h"

namespace lazydp {

enum class Factor : char { as_is = 'N', transposed = 'T' };

// c = a b with each factor transposed or not; `inner` is the length that the product sums over.
void sgemm(Factor a_is, ConstMatrixView a, Factor b_is, ConstMatrixView b, std::size_t inner,
           MatrixView c);

// y = a x, or aᵀ x.
void sgemv(Factor a_is, ConstMatrixView a, const float* x, std::size_t x_stride, float* y,
           std::size_t y_size, std::size_t y_stride);

// Who multiplies here: "OpenBLAS" or "oneDNN". It depends on the CPU alone, so that a run that goes
// on later rounds as it did before.
std::string_view sgemm_library();

}  // namespace lazydp
