#include <cblas.h>

#include "lazydp/model/gemm.h"
#ifdef LAZYDP_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

#include <algorithm>
#include <limits>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

blasint blas_size(std::size_t n) {
  check(n <= static_cast<std::size_t>(std::numeric_limits<blasint>::max()), "a size BLAS can hold");
  return static_cast<blasint>(n);
}

CBLAS_TRANSPOSE blas(Factor is) {
  return is == Factor::transposed ? CblasTrans : CblasNoTrans;
}

// Keeps the BLAS from starting threads: this project's own threads call it. The setting is
// process-wide.
void use_no_blas_threads() {
  [[maybe_unused]] static const bool once = (openblas_set_num_threads(1), true);
}

void fill(MatrixView c, float value) {
  for (std::size_t i = 0; i < c.rows; ++i) std::ranges::fill(c.row(i), value);
}

// With AVX-512 oneDNN is a tenth to a sixth faster than OpenBLAS 0.3.21, without it a tenth to a
// third slower (docs/measurements/performance.md).
#if defined(LAZYDP_ONEDNN) && defined(__x86_64__)
bool onednn_is_faster() {
  static const bool faster = __builtin_cpu_supports("avx512f") != 0;
  return faster;
}

void onednn_sgemm(Factor a_is, ConstMatrixView a, Factor b_is, ConstMatrixView b, std::size_t inner,
                  MatrixView c) {
  const auto size = [](std::size_t n) { return static_cast<dnnl_dim_t>(n); };
  const OneThread here;
  const dnnl_status_t status = dnnl_sgemm(
      static_cast<char>(a_is), static_cast<char>(b_is), size(c.rows), size(c.cols), size(inner),
      1.0f, a.data, size(a.stride), b.data, size(b.stride), 0.0f, c.data, size(c.stride));
  check(status == dnnl_success, "oneDNN multiplies");
}
#else
bool onednn_is_faster() {
  return false;
}

void onednn_sgemm(Factor, ConstMatrixView, Factor, ConstMatrixView, std::size_t, MatrixView) {}
#endif

}  // namespace

std::string_view sgemm_library() {
  return onednn_is_faster() ? "oneDNN" : "OpenBLAS";
}

void sgemm(Factor a_is, ConstMatrixView a, Factor b_is, ConstMatrixView b, std::size_t inner,
           MatrixView c) {
  if (c.rows == 0 || c.cols == 0) return;
  if (inner == 0) return fill(c, 0.0f);
  if (onednn_is_faster()) return onednn_sgemm(a_is, a, b_is, b, inner, c);
  use_no_blas_threads();
  cblas_sgemm(CblasRowMajor, blas(a_is), blas(b_is), blas_size(c.rows), blas_size(c.cols),
              blas_size(inner), 1.0f, a.data, blas_size(a.stride), b.data, blas_size(b.stride),
              0.0f, c.data, blas_size(c.stride));
}

void dgram(ConstMatrixView a, std::vector<double>& gram) {
  thread_local std::vector<double> wide;
  wide.resize(a.rows * a.cols);
  for (std::size_t i = 0; i < a.rows; ++i) std::ranges::copy(a.row(i), wide.data() + i * a.cols);
  gram.assign(a.rows * a.rows, 0.0);
  if (gram.empty() || a.cols == 0) return;
  use_no_blas_threads();
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, blas_size(a.rows), blas_size(a.cols), 1.0,
              wide.data(), blas_size(a.cols), 0.0, gram.data(), blas_size(a.rows));
}

// Zeroes y first: not every BLAS ignores the contents of y when beta is 0.
void sgemv(Factor a_is, ConstMatrixView a, const float* x, std::size_t x_stride, float* y,
           std::size_t y_size, std::size_t y_stride) {
  for (std::size_t i = 0; i < y_size; ++i) y[i * y_stride] = 0.0f;
  if (a.rows == 0 || a.cols == 0) return;
  use_no_blas_threads();
  cblas_sgemv(CblasRowMajor, blas(a_is), blas_size(a.rows), blas_size(a.cols), 1.0f, a.data,
              blas_size(a.stride), x, blas_size(x_stride), 0.0f, y, blas_size(y_stride));
}

}  // namespace lazydp
