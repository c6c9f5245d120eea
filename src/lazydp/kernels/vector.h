#pragma once
// Arithmetic on arrays of floats, and dot products of pairs, for the CPU's widest vectors.

#include <cstddef>
#include <span>

namespace lazydp {

float dot(std::span<const float> a, std::span<const float> b);
float squared_norm(std::span<const float> x);
void add_scaled(float factor, std::span<const float> x, std::span<float> y);  // y += factor * x
void scale(float factor, std::span<float> x);                                 // x *= factor

// Writes the count (count - 1) / 2 dot products of vectors i > j, ordered by i, then j. `vectors`
// are `count` vectors of `dim` floats, one after another.
void pair_dots(const float* vectors, std::size_t count, std::size_t dim, float* dots);

// Writes the derivative of pair_dots() to `vector_gradients` (laid out as `vectors`): gradient of
// vector i = sum over j of gradient of the pair's dot product x vector j.
void pair_dots_backward(const float* vectors, std::size_t count, std::size_t dim,
                        const float* dot_gradients, float* vector_gradients);

}  // namespace lazydp
