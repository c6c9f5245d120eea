#pragma once
// Arithmetic on arrays of floats, for the CPU's widest vectors.

#include <cstddef>
#include <span>

namespace lazydp {

float dot(std::span<const float> a, std::span<const float> b);
float squared_norm(std::span<const float> x);
void add_scaled(float factor, std::span<const float> x, std::span<float> y);  // y += factor * x
void scale(float factor, std::span<float> x);                                 // x *= factor

}  // namespace lazydp
