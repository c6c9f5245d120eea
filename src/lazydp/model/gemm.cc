#include "lazydp/model/gemm.h"

#include <algorithm>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"

namespace lazydp {
namespace {

std::size_t divide_up(std::size_t n, std::size_t by) {
  return (n + by - 1) / by;
}

// Cuts n into an even number of equal blocks of at most about `largest`; even, because core counts
// are. OpenBLAS works on 4 rows at a time: a multiple of 4 leaves no block but the last with a
// remainder.
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
  sgemm(Factor::as_is, a, Factor::as_is, b, a.cols, c);
}

void times_transpose(ConstMatrixView a, ConstMatrixView b, MatrixView c) {
  check(a.rows == c.rows && a.cols == b.cols && b.rows == c.cols, "shapes of c = a bT agree");
  if (c.cols == 1) return sgemv(Factor::as_is, a, b.data, 1, c.data, c.rows, c.stride);
  sgemm(Factor::as_is, a, Factor::transposed, b, a.cols, c);
}

void transpose_times(ConstMatrixView a, ConstMatrixView b, MatrixView c) {
  check(a.cols == c.rows && a.rows == b.rows && b.cols == c.cols, "shapes of c = aT b agree");
  if (c.rows == 1) return sgemv(Factor::transposed, b, a.data, a.stride, c.data, c.cols, 1);
  sgemm(Factor::transposed, a, Factor::as_is, b, a.rows, c);
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

void transpose_times_in_parts(ConstMatrixView a, ConstMatrixView b, MatrixView c) {
  if (a.rows <= kRowsAtOnce) return transpose_times(a, b, c);
  thread_local std::vector<double> sum;
  sum.assign(c.rows * c.cols, 0.0);
  for (std::size_t first = 0; first < a.rows; first += kRowsAtOnce) {
    const std::size_t count = std::min(kRowsAtOnce, a.rows - first);
    transpose_times(a.rows_from(first, count), b.rows_from(first, count), c);
    for (std::size_t i = 0; i < c.rows; ++i) {
      const float* const __restrict part = c.row(i).data();
      double* const __restrict total = sum.data() + i * c.cols;
      for (std::size_t j = 0; j < c.cols; ++j) total[j] += static_cast<double>(part[j]);
    }
  }
  for (std::size_t i = 0; i < c.rows; ++i) {
    for (std::size_t j = 0; j < c.cols; ++j) {
      c.row(i)[j] = static_cast<float>(sum[i * c.cols + j]);
    }
  }
}

void parallel_transpose_times_in_parts(ConstMatrixView a, ConstMatrixView b, MatrixView c) {
  check(a.cols == c.rows, "shapes of c = aT b agree");
  constexpr std::size_t kTallestTile = 256;
  parallel_blocks(c.rows, even_block(c.rows, kTallestTile),
                  [&](std::size_t begin, std::size_t end) {
                    transpose_times_in_parts(a.cols_from(begin, end - begin), b,
                                             c.rows_from(begin, end - begin));
                  });
}

std::size_t examples_per_block(std::size_t batch_size) {
  // Every block packs all weights anew: blocks of 256 reach 98 % of the speed of whole halves, 128
  // about 90 %, 64 about 80 %. Smaller batches take 128, for machines with more cores.
  return even_block(batch_size, std::clamp<std::size_t>(divide_up(batch_size, 8), 128, 256));
}

}  // namespace lazydp
