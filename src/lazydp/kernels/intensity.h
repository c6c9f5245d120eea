#pragma once
// Arithmetic in a chosen dose: what a CPU's vector units and its memory give at most.

#include <cstddef>
#include <span>

namespace lazydp {

// Loads each vector of x once, puts it through `operations` multiply-adds, and stores it. Values
// stay as they are to within rounding. With few operations memory decides how long that takes, with
// many the vector units.
void multiply_add_each(std::span<float> x, int operations);

std::size_t vector_lanes();  // floats in one of this CPU's vectors

// Vector operations that noise takes for each vector of eight normals: arithmetic, comparisons and
// rounds of the cipher, without loads and stores. Counted by running the kernel on a counting twin.
double noise_operations_a_vector();

}  // namespace lazydp
