#include "lazydp/kernels/vector.h"

// Highway compiles this file once for each instruction set and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lazydp/kernels/pair_dots.cc"
#include <hwy/foreach_target.h>
// Highway's own header must follow the line above.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace lazydp::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, 8>;  // a short vector of 16 floats still fills two
using Vec = hn::Vec<Tag>;

// Returns the index of the first pair of vector i with those before it; vector 0 has none.
HWY_INLINE std::size_t first_pair(std::size_t i) {
  return i * (i - 1) / 2;
}

// Stores the sums of the lanes of four vectors.
HWY_INLINE void store_sums(Vec v0, Vec v1, Vec v2, Vec v3, float* to) {
  const Tag d;
#if HWY_MAX_BYTES >= 32 && !HWY_HAVE_SCALABLE  // eight lanes: two blocks of four
  const Vec v02 = hn::Add(hn::InterleaveLower(d, v0, v2), hn::InterleaveUpper(d, v0, v2));
  const Vec v13 = hn::Add(hn::InterleaveLower(d, v1, v3), hn::InterleaveUpper(d, v1, v3));
  const Vec sums = hn::Add(hn::InterleaveLower(d, v02, v13), hn::InterleaveUpper(d, v02, v13));
  const hn::Half<Tag> four;
  hn::StoreU(hn::Add(hn::LowerHalf(four, sums), hn::UpperHalf(four, sums)), four, to);
#else
  to[0] = hn::GetLane(hn::SumOfLanes(d, v0));
  to[1] = hn::GetLane(hn::SumOfLanes(d, v1));
  to[2] = hn::GetLane(hn::SumOfLanes(d, v2));
  to[3] = hn::GetLane(hn::SumOfLanes(d, v3));
#endif
}

// Writes sums[r][c] = a[r] . b[c]. The sums stay in registers because each has a name: compilers
// keep an array of vectors in memory.
HWY_INLINE void twelve_dots(const float* const (&a)[3], const float* const (&b)[4], std::size_t dim,
                            float (&sums)[3][4]) {
  const Tag d;
  Vec s00 = hn::Zero(d), s01 = s00, s02 = s00, s03 = s00;
  Vec s10 = s00, s11 = s00, s12 = s00, s13 = s00;
  Vec s20 = s00, s21 = s00, s22 = s00, s23 = s00;
  std::size_t k = 0;
  for (; k + hn::Lanes(d) <= dim; k += hn::Lanes(d)) {
    const Vec a0 = hn::LoadU(d, a[0] + k), a1 = hn::LoadU(d, a[1] + k), a2 = hn::LoadU(d, a[2] + k);
    const Vec b0 = hn::LoadU(d, b[0] + k);
    s00 = hn::MulAdd(a0, b0, s00), s10 = hn::MulAdd(a1, b0, s10), s20 = hn::MulAdd(a2, b0, s20);
    const Vec b1 = hn::LoadU(d, b[1] + k);
    s01 = hn::MulAdd(a0, b1, s01), s11 = hn::MulAdd(a1, b1, s11), s21 = hn::MulAdd(a2, b1, s21);
    const Vec b2 = hn::LoadU(d, b[2] + k);
    s02 = hn::MulAdd(a0, b2, s02), s12 = hn::MulAdd(a1, b2, s12), s22 = hn::MulAdd(a2, b2, s22);
    const Vec b3 = hn::LoadU(d, b[3] + k);
    s03 = hn::MulAdd(a0, b3, s03), s13 = hn::MulAdd(a1, b3, s13), s23 = hn::MulAdd(a2, b3, s23);
  }
  store_sums(s00, s01, s02, s03, sums[0]);
  store_sums(s10, s11, s12, s13, sums[1]);
  store_sums(s20, s21, s22, s23, sums[2]);
  for (; k < dim; ++k) {
    for (std::size_t r = 0; r < 3; ++r) {
      for (std::size_t c = 0; c < 4; ++c) sums[r][c] += a[r][k] * b[c][k];
    }
  }
}

void pair_dots(const float* vectors, std::size_t count, std::size_t dim, float* dots) {
  // Past the end the last vector stands in; its results are not written.
  const auto vector = [&](std::size_t i) { return vectors + HWY_MIN(i, count - 1) * dim; };
  for (std::size_t i = 0; i < count; i += 3) {
    const std::size_t end = HWY_MIN(i + 3, count);
    const float* const a[3] = {vector(i), vector(i + 1), vector(i + 2)};
    for (std::size_t j = 0; j + 1 < end; j += 4) {
      const float* const b[4] = {vector(j), vector(j + 1), vector(j + 2), vector(j + 3)};
      float sums[3][4];
      twelve_dots(a, b, dim, sums);
      for (std::size_t r = i; r < end; ++r) {
        float* const row = dots + first_pair(r) + j;
        if (j + 4 <= r) {
          hwy::CopyBytes<4 * sizeof(float)>(sums[r - i], row);
        } else {
          for (std::size_t c = 0; j + c < r; ++c) row[c] = sums[r - i][c];
        }
      }
    }
  }
}

// Returns the gradient of the dot product of vectors i and j; 0 for a vector with itself.
HWY_INLINE float pair_gradient(const float* dot_gradients, std::size_t i, std::size_t j) {
  if (i == j) return 0.0f;
  return i > j ? dot_gradients[first_pair(i) + j] : dot_gradients[first_pair(j) + i];
}

// Writes the gradient of vector i from coordinate k on, one coordinate at a time.
HWY_INLINE void rest_of_gradient(const float* vectors, std::size_t count, std::size_t dim,
                                 const float* dot_gradients, std::size_t i, std::size_t k,
                                 float* out) {
  for (; k < dim; ++k) {
    float sum = 0.0f;
    for (std::size_t j = 0; j < count; ++j) {
      sum += pair_gradient(dot_gradients, i, j) * vectors[j * dim + k];
    }
    out[k] = sum;
  }
}

// Writes the gradients of vectors i ... i + 3.
HWY_INLINE void four_gradients(const float* vectors, std::size_t count, std::size_t dim,
                               const float* dot_gradients, std::size_t i, float* out) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  const float* const g0 = dot_gradients + first_pair(i);
  const float* const g1 = dot_gradients + first_pair(i + 1);
  const float* const g2 = dot_gradients + first_pair(i + 2);
  const float* const g3 = dot_gradients + first_pair(i + 3);
  std::size_t k = 0;
  for (; k + 2 * lanes <= dim; k += 2 * lanes) {
    Vec s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    Vec t0 = s0, t1 = s0, t2 = s0, t3 = s0;
    const auto add = [&](std::size_t j, float c0, float c1, float c2, float c3) HWY_ATTR {
      const Vec x = hn::LoadU(d, vectors + j * dim + k);
      const Vec y = hn::LoadU(d, vectors + j * dim + k + lanes);
      s0 = hn::MulAdd(hn::Set(d, c0), x, s0), t0 = hn::MulAdd(hn::Set(d, c0), y, t0);
      s1 = hn::MulAdd(hn::Set(d, c1), x, s1), t1 = hn::MulAdd(hn::Set(d, c1), y, t1);
      s2 = hn::MulAdd(hn::Set(d, c2), x, s2), t2 = hn::MulAdd(hn::Set(d, c2), y, t2);
      s3 = hn::MulAdd(hn::Set(d, c3), x, s3), t3 = hn::MulAdd(hn::Set(d, c3), y, t3);
    };
    for (std::size_t j = 0; j < i; ++j) add(j, g0[j], g1[j], g2[j], g3[j]);
    add(i, 0.0f, g1[i], g2[i], g3[i]);
    add(i + 1, g1[i], 0.0f, g2[i + 1], g3[i + 1]);
    add(i + 2, g2[i], g2[i + 1], 0.0f, g3[i + 2]);
    add(i + 3, g3[i], g3[i + 1], g3[i + 2], 0.0f);
    for (std::size_t j = i + 4; j < count; ++j) {
      const float* const g = dot_gradients + first_pair(j) + i;
      add(j, g[0], g[1], g[2], g[3]);
    }
    float* const o = out + k;
    hn::StoreU(s0, d, o), hn::StoreU(t0, d, o + lanes);
    hn::StoreU(s1, d, o + dim), hn::StoreU(t1, d, o + dim + lanes);
    hn::StoreU(s2, d, o + 2 * dim), hn::StoreU(t2, d, o + 2 * dim + lanes);
    hn::StoreU(s3, d, o + 3 * dim), hn::StoreU(t3, d, o + 3 * dim + lanes);
  }
  for (std::size_t r = 0; r < 4; ++r) {
    rest_of_gradient(vectors, count, dim, dot_gradients, i + r, k, out + r * dim);
  }
}

void pair_dots_backward(const float* vectors, std::size_t count, std::size_t dim,
                        const float* dot_gradients, float* vector_gradients) {
  if (count < 4) {
    for (std::size_t i = 0; i < count; ++i) {
      rest_of_gradient(vectors, count, dim, dot_gradients, i, 0, vector_gradients + i * dim);
    }
    return;
  }
  for (std::size_t next = 0; next < count; next += 4) {
    const std::size_t i = HWY_MIN(next, count - 4);  // the last four may overlap those before
    four_gradients(vectors, count, dim, dot_gradients, i, vector_gradients + i * dim);
  }
}

}  // namespace lazydp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lazydp {

HWY_EXPORT(pair_dots);
HWY_EXPORT(pair_dots_backward);

void pair_dots(const float* vectors, std::size_t count, std::size_t dim, float* dots) {
  HWY_DYNAMIC_DISPATCH(pair_dots)(vectors, count, dim, dots);
}

void pair_dots_backward(const float* vectors, std::size_t count, std::size_t dim,
                        const float* dot_gradients, float* vector_gradients) {
  HWY_DYNAMIC_DISPATCH(pair_dots_backward)(vectors, count, dim, dot_gradients, vector_gradients);
}

}  // namespace lazydp
#endif
