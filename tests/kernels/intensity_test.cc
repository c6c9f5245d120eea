// Kernels of a chosen arithmetic intensity, and the count of the noise kernel's operations.

#include "lazydp/kernels/intensity.h"

#include <gtest/gtest.h>

#include <vector>

namespace lazydp {
namespace {

TEST(Intensity, LeavesValuesAsTheyAreAtEveryLengthAndDose) {
  for (const std::size_t n : {0u, 1u, 7u, 95u, 96u, 97u, 1000u}) {
    for (const int operations : {0, 1, 3, 128}) {
      std::vector<float> x(n);
      for (std::size_t i = 0; i < n; ++i) x[i] = 0.37f * static_cast<float>(i) - 5.0f;
      const std::vector<float> before = x;
      multiply_add_each(x, operations);
      EXPECT_EQ(x, before) << n << " floats, " << operations << " operations";
    }
  }
}

TEST(Intensity, VectorsHoldAPowerOfTwo) {
  const std::size_t lanes = vector_lanes();
  EXPECT_GE(lanes, 4u);
  EXPECT_EQ(lanes & (lanes - 1), 0u);
}

// Written down from box_muller.h for a group of two vectors: 12 to load words, 34 for logarithm,
// root, sine, cosine and signs; and eleven rounds of the cipher for each vector.
TEST(Intensity, NoiseTakesTheOperationsThatItsSourceHas) {
  EXPECT_GE(noise_operations_a_vector(), 11.0 + 20.0);
  EXPECT_LE(noise_operations_a_vector(), 11.0 + 26.0);
}

}  // namespace
}  // namespace lazydp
