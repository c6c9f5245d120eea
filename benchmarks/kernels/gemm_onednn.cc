#include "benchmarks/kernels/gemm_onednn.h"

#ifdef LAZYDP_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

namespace lazydp::bench {

#ifdef LAZYDP_ONEDNN
bool has_onednn() {
  return true;
}

void onednn_sgemm(char transpose_a, char transpose_b, std::size_t rows, std::size_t cols,
                  std::size_t inner, const float* a, std::size_t a_stride, const float* b,
                  std::size_t b_stride, float* c, std::size_t c_stride) {
  const auto size = [](std::size_t n) { return static_cast<dnnl_dim_t>(n); };
  dnnl_sgemm(transpose_a, transpose_b, size(rows), size(cols), size(inner), 1.0f, a, size(a_stride),
             b, size(b_stride), 0.0f, c, size(c_stride));
}
#else
bool has_onednn() {
  return false;
}

void onednn_sgemm(char, char, std::size_t, std::size_t, std::size_t, const float*, std::size_t,
                  const float*, std::size_t, float*, std::size_t) {}
#endif

}  // namespace lazydp::bench
