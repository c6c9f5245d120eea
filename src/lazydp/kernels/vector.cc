#include "lazydp/kernels/vector.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lazydp/kernels/vector.cc"
#include <hwy/foreach_target.h>
// Highway's own header must follow the line above.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace lazydp::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

float dot(const float* a, const float* b, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto sum0 = hn::Zero(d);
  auto sum1 = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), sum1);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void add_scaled(float factor, const float* x, float* y, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::MulAdd(f, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
  }
  for (; i < n; ++i) y[i] += factor * x[i];
}

void scale(float factor, float* x, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(f, hn::LoadU(d, x + i)), d, x + i);
  for (; i < n; ++i) x[i] *= factor;
}

}  // namespace lazydp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lazydp {

HWY_EXPORT(dot);
HWY_EXPORT(add_scaled);
HWY_EXPORT(scale);

float dot(std::span<const float> a, std::span<const float> b) {
  return HWY_DYNAMIC_DISPATCH(dot)(a.data(), b.data(), a.size());
}
float squared_norm(std::span<const float> x) {
  return dot(x, x);
}
void add_scaled(float factor, std::span<const float> x, std::span<float> y) {
  HWY_DYNAMIC_DISPATCH(add_scaled)(factor, x.data(), y.data(), x.size());
}
void scale(float factor, std::span<float> x) {
  HWY_DYNAMIC_DISPATCH(scale)(factor, x.data(), x.size());
}

}  // namespace lazydp
#endif
