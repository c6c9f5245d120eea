#pragma once
// Matrix products, nearly all in single precision, cut into blocks for threads. Only sgemm.cc knows
// the library that multiplies.
//
// Every product overwrites `c` without reading it. The first three run on the calling thread: they
// are meant for blocks of examples inside a parallel loop, which is faster than a BLAS that brings
// its own threads. In a b and a bᵀ a row of `c` depends on the same row of `a` and on no other: the
// NaN of an example stays with that example.

#include <cstddef>
#include <string_view>
#include <vector>

#include "lazydp/base/matrix.h"

namespace lazydp {

// c = a b
void times(ConstMatrixView a, ConstMatrixView b, MatrixView c);

// c = a bᵀ
void times_transpose(ConstMatrixView a, ConstMatrixView b, MatrixView c);

// c = aᵀ b
void transpose_times(ConstMatrixView a, ConstMatrixView b, MatrixView c);

// c = aᵀ b on all threads, for the weight gradient (d loss / dy)ᵀ x of a whole batch. Gives the
// same bits for any number of threads: its tiles depend on the shape of c alone.
void parallel_transpose_times(ConstMatrixView a, ConstMatrixView b, MatrixView c);

// The most rows that the next two sum in single precision.
inline constexpr std::size_t kRowsAtOnce = 1024;

// c = aᵀ b, summed over kRowsAtOnce rows at a time in single precision, and over these parts in
// double. Whatever the number of rows, each term takes part in at most kRowsAtOnce roundings of
// single precision, and one of the result.
void transpose_times_in_parts(ConstMatrixView a, ConstMatrixView b, MatrixView c);

// The same on all threads; the same bits for any number of them.
void parallel_transpose_times_in_parts(ConstMatrixView a, ConstMatrixView b, MatrixView c);

// Returns the number of examples in a block of a batch, so that products of blocks run at full
// speed and threads share the blocks evenly. A function of the batch alone, never of the number of
// threads.
std::size_t examples_per_block(std::size_t batch_size);

// Products on the calling thread, by the library that is fastest on this CPU.
enum class Factor : char { as_is = 'N', transposed = 'T' };

// c = a b with each factor transposed or not; `inner` is the length that the product sums over.
void sgemm(Factor a_is, ConstMatrixView a, Factor b_is, ConstMatrixView b, std::size_t inner,
           MatrixView c);

// y = a x, or aᵀ x.
void sgemv(Factor a_is, ConstMatrixView a, const float* x, std::size_t x_stride, float* y,
           std::size_t y_size, std::size_t y_stride);

// Writes the lower triangle of gram = a aᵀ in double precision: a.rows x a.rows, row-major.
void dgram(ConstMatrixView a, std::vector<double>& gram);

// Returns the library that multiplies: "OpenBLAS" or "oneDNN". It depends on the CPU alone, so that
// a resumed run rounds as before.
std::string_view sgemm_library();

}  // namespace lazydp
