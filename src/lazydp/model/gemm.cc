#include "lazydp/model/gemm.h"

#include <cblas.h>

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

// Our threads call the BLAS; it starts none of its own. The setting is the whole process's.
void use_no_blas_threads() {
  [[maybe_unused]] static const bool once = (openblas_set_num_threads(1), true);
}

void fill(MatrixView c, float value) {
  for (std::size_t i = 0; i < c.rows; ++i) std::ranges::fill(c.row(i), value);
}

// c = a b with each factor transposed or not; `inner` is the length that the product sums over.
void sgemm(CBLAS_TRANSPOSE transpose_a, ConstMatrixView a, CBLAS_TRANSPOSE transpose_b,
           ConstMatrixView b, std::size_t inner, MatrixView c) {
  if (c.rows == 0 || c.cols == 0) return;
  if (inner == 0) return fill(c, 0.0f);
  use_no_blas_threads();
  cblas_sgemm(CblasRowMajor, transpose_a, transpose_b, blas_size(c.rows), blas_size(c.cols),
              blas_size(inner), 1.0f, a.data, blas_size(a.stride), b.data, blas_size(b.stride),
              0.0f, c.data, blas_size(c.stride));
}

// y = a x, or aᵀ x. Zeroes y first: not every BLAS ignores what y holds when beta is 0.
void sgemv(CBLAS_TRANSPOSE transpose, ConstMatrixView a, const float* x, std::size_t x_stride,
           float* y, std::size_t y_size, std::size_t y_stride) {
  for (std::size_t i = 0; i < y_size; ++i) y[i * y_stride] = 0.0f;
  if (a.rows == 0 || a.cols == 0) return;
  use_no_blas_threads();
  cblas_sgemv(CblasRowMajor, transpose, blas_size(a.rows), blas_size(a.cols), 1.0f, a.data,
              blas_size(a.stride), x, blas_size(x_stride), 0.0f, y, blas_size(y_stride));
}

std::size_t divide_up(std::size_t n, std::size_t by) {
  return (n + by - 1) / by;
}

// Cuts n into an even number of equal blocks of at most about `largest`; even, because cores are.
// OpenBLAS works on 4 rows at a time: a multiple of 4 leaves no block with an odd end but the last.
std::size_t even_block(std::size_t n, std::size_t largest) {
  const std::size_t blocks = 2 * divide_up(std::max<std::size_t>(n, 1), 2 * largest);
  return std::max<std::size_t>(4, divide_up(divide_up(n, blocks), 4) * 4);
}

}  // namespace

void times(ConstMatrixView a, ConstMatrixView b, MatrixView c) {
  check(a.rows == c.rows && a.cols == b.rows && b.cols == c.cols, "shapes of c = a b agree");
  if (a.cols == 1) {  // a layer of one output: an outer product
    for (std::size_t i = 0; i < c.rows; ++i) {
      const float factor = a.row(i)[0];
      for (std::size_t j = 0; j < c.cols; ++j) c.row(i)[j] = factor * b.data[j];
    }
    return;
  }
  sgemm(CblasNoTrans, a, CblasNoTrans, b, a.cols, c);
}

void times_transpose(ConstMatrixView a, ConstMatrixView b, MatrixView c) {
  check(a.rows == c.rows && a.cols == b.cols && b.rows == c.cols, "shapes of c = a bT agree");
  if (c.cols == 1) return sgemv(CblasNoTrans, a, b.data, 1, c.data, c.rows, c.stride);
  sgemm(CblasNoTrans, a, CblasTrans, b, a.cols, c);
}

void transpose_times(ConstMatrixView a, ConstMatrixView b, MatrixView c) {
  check(a.cols == c.rows && a.rows == b.rows && b.cols == c.cols, "shapes of c = aT b agree");
  if (c.rows == 1) return sgemv(CblasTrans, b, a.data, a.stride, c.data, c.cols, 1);
  sgemm(CblasTrans, a, CblasNoTrans, b, a.rows, c);
}

void parallel_transpose_times(ConstMatrixView a, ConstMatrixView b, MatrixView c) {
  check(a.cols == c.rows, "shapes of c = aT b agree");
  // Every tile packs all of b, so tiles are tall: halves up to 512 rows of c, then quarters, ...
  constexpr std::size_t kTallestTile = 256;
  parallel_blocks(
      c.rows, even_block(c.rows, kTallestTile), [&](std::size_t begin, std::size_t end) {
        transpose_times(a.cols_from(begin, end - begin), b, c.rows_from(begin, end - begin));
      });
}

std::size_t examples_per_block(std::size_t batch_size) {
  // Every block packs all weights anew: blocks of 256 reach 98 % of the speed of whole halves, 128
  // about 90 %, 64 about 80 %. Smaller batches take 128, for machines of more cores.
  return even_block(batch_size, std::clamp<std::size_t>(divide_up(batch_size, 8), 128, 256));
}

}  // namespace lazydp
