#include "lazydp/kernels/intensity.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "lazydp/kernels/intensity.cc"
#include <hwy/foreach_target.h>
// Highway's own header must follow the line above.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace lazydp::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

std::size_t lanes() {
  return hn::Lanes(hn::ScalableTag<float>());
}

// x <- 1 * x + 0: both are read from memory, so that the compiler cannot know.
const volatile float kOne = 1.0f;
const volatile float kZero = 0.0f;

void multiply_add_each(float* x, std::size_t n, int operations) {
  const hn::ScalableTag<float> d;
  const std::size_t width = hn::Lanes(d);
  const auto one = hn::Set(d, kOne);
  const auto zero = hn::Set(d, kZero);
  std::size_t i = 0;
  // Twelve independent chains: more than latency times units of any known CPU.
  for (; i + 12 * width <= n; i += 12 * width) {
    float* p = x + i;
    auto a = hn::LoadU(d, p), b = hn::LoadU(d, p + width);
    auto c = hn::LoadU(d, p + 2 * width), e = hn::LoadU(d, p + 3 * width);
    auto f = hn::LoadU(d, p + 4 * width), g = hn::LoadU(d, p + 5 * width);
    auto h = hn::LoadU(d, p + 6 * width), j = hn::LoadU(d, p + 7 * width);
    auto k = hn::LoadU(d, p + 8 * width), l = hn::LoadU(d, p + 9 * width);
    auto m = hn::LoadU(d, p + 10 * width), o = hn::LoadU(d, p + 11 * width);
    for (int t = 0; t < operations; ++t) {
      a = hn::MulAdd(a, one, zero), b = hn::MulAdd(b, one, zero);
      c = hn::MulAdd(c, one, zero), e = hn::MulAdd(e, one, zero);
      f = hn::MulAdd(f, one, zero), g = hn::MulAdd(g, one, zero);
      h = hn::MulAdd(h, one, zero), j = hn::MulAdd(j, one, zero);
      k = hn::MulAdd(k, one, zero), l = hn::MulAdd(l, one, zero);
      m = hn::MulAdd(m, one, zero), o = hn::MulAdd(o, one, zero);
    }
    hn::StoreU(a, d, p), hn::StoreU(b, d, p + width);
    hn::StoreU(c, d, p + 2 * width), hn::StoreU(e, d, p + 3 * width);
    hn::StoreU(f, d, p + 4 * width), hn::StoreU(g, d, p + 5 * width);
    hn::StoreU(h, d, p + 6 * width), hn::StoreU(j, d, p + 7 * width);
    hn::StoreU(k, d, p + 8 * width), hn::StoreU(l, d, p + 9 * width);
    hn::StoreU(m, d, p + 10 * width), hn::StoreU(o, d, p + 11 * width);
  }
  for (; i < n; ++i) {
    for (int t = 0; t < operations; ++t) x[i] = x[i] * kOne + kZero;
  }
}

}  // namespace lazydp::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lazydp {

HWY_EXPORT(lanes);
HWY_EXPORT(multiply_add_each);

void multiply_add_each(std::span<float> x, int operations) {
  HWY_DYNAMIC_DISPATCH(multiply_add_each)(x.data(), x.size(), operations);
}
std::size_t vector_lanes() {
  return HWY_DYNAMIC_DISPATCH(lanes)();
}

}  // namespace lazydp
#endif
