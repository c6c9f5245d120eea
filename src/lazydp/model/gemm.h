#pragma once
// Matrix products in single precision, cut for our threads. sgemm.cc alone knows who multiplies.
//
// Every product overwrites `c` without reading it. The first three run on the calling thread: they
// are meant for blocks of examples inside a parallel loop, which is faster than a BLAS that brings
// its own threads. In a b and a bᵀ a row of `c` depends on the same row of `a` and on no other: the
// NaN of an example stays with that example.

#include <cstddef>

#include "lazydp/base/matrix.h"

namespace lazydp {

// c = a b
void times(ConstMatrixView a, ConstMatrixView b, MatrixView c);

// c = a bᵀ
void times_transpose(ConstMatrixView a, ConstMatrixView b, MatrixView c);

// c = aᵀ b
void transpose_times(ConstMatrixView a, ConstMatrixView b, MatrixView c);

// c = aᵀ b on all threads, for the weight gradient (d loss / dy)ᵀ x of a whole batch. The same bits
// for any number of threads: its tiles depend on the shape of c alone.
void parallel_transpose_times(ConstMatrixView a, ConstMatrixView b, MatrixView c);

// Into blocks of how many examples to cut a batch, so that products of blocks run at full speed and
// the blocks share out evenly. A function of the batch alone, never of the number of threads.
std::size_t examples_per_block(std::size_t batch_size);

}  // namespace lazydp
