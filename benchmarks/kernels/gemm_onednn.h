#pragma once
// oneDNN's own sgemm, where the library is installed.

#include <cstddef>

namespace lazydp::bench {

bool has_onednn();

// c = op(a) op(b), row-major; 'N' or 'T' each.
void onednn_sgemm(char transpose_a, char transpose_b, std::size_t rows, std::size_t cols,
                  std::size_t inner, const float* a, std::size_t a_stride, const float* b,
                  std::size_t b_stride, float* c, std::size_t c_stride);

}  // namespace lazydp::bench
