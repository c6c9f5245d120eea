#pragma once
// Bags that Python passes from call to call.

#include "lazydp/base/matrix.h"
#include "lazydp/embedding/pooling.h"
#include "lazydp/python/bindings.h"

namespace lazydp {

// Bags as the caller of a table gave them, and how they are pooled.
struct PooledBags {
  Bags bags;
  Pooling mode = Pooling::sum;
};

inline ConstMatrixView view_of(const FloatMatrix& matrix) {
  return {matrix.data(), matrix.shape(0), matrix.shape(1), matrix.shape(1)};
}

}  // namespace lazydp
