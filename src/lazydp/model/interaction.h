#pragma once
// The interaction of an example's dense features and tables: dot products of all pairs of vectors.
//
// A row of `features` is an example's vectors, `dim` floats each, one after another: the bottom
// MLP's output, then the pooled vector of every table. A row of `output` is the bottom MLP's output
// (or, if it is wide enough for them, all vectors) followed by the dot product of vectors i and j
// for every i > j, ordered by i, then j. Both functions run on the calling thread, example by
// example.

#include <cstddef>

#include "lazydp/base/matrix.h"

namespace lazydp {

void interact(ConstMatrixView features, std::size_t dim, MatrixView output);

// Overwrites `feature_gradients` with d loss / d features, from d loss / d output.
void interact_backward(ConstMatrixView features, std::size_t dim, ConstMatrixView output_gradients,
                       MatrixView feature_gradients);

}  // namespace lazydp
