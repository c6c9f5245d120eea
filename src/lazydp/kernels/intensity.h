#pragma once
// Kernels of a chosen arithmetic intensity, which measure the peak of a CPU's vector units and
// memory.

#include <cstddef>
#include <span>

namespace lazydp {

// Loads each vector of x once, applies `operations` multiply-adds to it, and stores it. Values do
// not change but for rounding. With few operations memory bounds the time, with many the vector
// units.
void multiply_add_each(std::span<float> x, int operations);

std::size_t vector_lanes();  // floats in one of this CPU's vectors

// Returns the number of vector operations that noise takes for each vector of eight normals:
// arithmetic, comparisons and rounds of the cipher, without loads and stores. Counts them by
// running the kernel on a vector type that counts.
double noise_operations_a_vector();

}  // namespace lazydp
