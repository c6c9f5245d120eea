#pragma once
// Random words to normals (Box and Muller 1958), eight lanes at a time, the same on every CPU.
//
// A group is 16 words: lane l takes words l (radius) and 8 + l (angle) and gives normals l and
// 8 + l. With u = (v + 1/2) / 2^31 from the upper 31 bits v of the first word, -ln u is half the
// squared radius; the angle is uniform over a quarter turn, and the two lowest bits choose the
// quadrant: z = ± sqrt(-ln u) (cos t ∓ sin t).
//
// 31 bits leave gaps far out, and such gaps would tell who was settled once from who was settled
// often. An integer with more than nine leading zeros (one word in 512) is therefore extended by 32
// further bits. The largest radius is 9.4.

#include <cstddef>
#include <cstdint>

namespace lazydp::box_muller {

inline constexpr std::size_t kGroup = 16;       // words, and normals
inline constexpr std::size_t kLanes = 8;        // pairs in a group
inline constexpr std::size_t kGroupBlocks = 4;  // cipher blocks of a group
inline constexpr int kRefineBits = 21;
inline constexpr int kRefineBelow = 1 << kRefineBits;  // of the angle; of the radius twice that

// What the arithmetic needs to know of a group's words.
template <class Simd>
struct Pairs {
  typename Simd::F radius;    // v + 1/2, or its refinement
  typename Simd::F exponent;  // log2 of what `radius` is to be divided by: 31 or 63
  typename Simd::F angle;     // in [-1, 1), quarter-turns / 2
  typename Simd::I words0;    // lowest bit: sign of the first normal
  typename Simd::I words1;    // … of the second
};

template <class Simd>
inline __attribute__((always_inline)) Pairs<Simd> load(const std::uint32_t* words) {
  Pairs<Simd> p;
  p.words0 = Simd::load(words);
  p.words1 = Simd::load(words + kLanes);
  p.radius = Simd::add(Simd::to_float(Simd::shift_right_logical(p.words0, 1)), Simd::set(0.5f));
  p.exponent = Simd::set(31.0f);
  p.angle =
      Simd::mul(Simd::to_float(Simd::shift_right_arithmetic(p.words1, 1)), Simd::set(0x1p-30f));
  return p;
}

// Whether a lane of the `N` groups from `words` on may want more bits: asked of several groups at
// once, and a little too often, because the straight path asks it of everybody.
template <class Simd, int N>
inline __attribute__((always_inline)) bool any_small(const std::uint32_t* words) {
  auto least = Simd::set(std::int32_t{-1});
#pragma GCC unroll 8
  for (int g = 0; g < N; ++g) {
    least = Simd::min_unsigned(least, Simd::load(words + kGroup * g));
    least = Simd::min_unsigned(
        least, Simd::add(Simd::load(words + kGroup * g + kLanes), Simd::set(2 * kRefineBelow)));
  }
  return Simd::any_zero(Simd::shift_right_logical(least, kRefineBits + 2));
}

// Gives small lanes of one group their further bits; `refine(i)` returns 32 more for word i.
template <class Simd, class Refine>
inline void refine_small(const std::uint32_t* words, Pairs<Simd>& p, Refine&& refine) {
  const auto v = Simd::shift_right_logical(p.words0, 1);
  const auto a = Simd::shift_right_arithmetic(p.words1, 1);
  const unsigned small_radius = Simd::sign_mask(Simd::less(v, Simd::set(2 * kRefineBelow)));
  const unsigned small_angle = Simd::sign_mask(Simd::less(Simd::abs(a), Simd::set(kRefineBelow)));
  if ((small_radius | small_angle) == 0) return;
  alignas(32) float radius[kLanes], exponent[kLanes], angle[kLanes];
  Simd::store(radius, p.radius);
  Simd::store(exponent, p.exponent);
  Simd::store(angle, p.angle);
  for (std::size_t l = 0; l < kLanes; ++l) {
    if (((small_radius >> l) & 1u) != 0) {
      const std::uint64_t high = words[l] >> 1;
      radius[l] = static_cast<float>(static_cast<std::int64_t>(high << 32 | refine(l))) + 0.5f;
      exponent[l] = 63.0f;
    }
    if (((small_angle >> l) & 1u) != 0) {
      const auto high =
          static_cast<std::int64_t>(static_cast<std::int32_t>(words[kLanes + l]) >> 1);
      angle[l] = static_cast<float>(high * (std::int64_t{1} << 32) +
                                    static_cast<std::int64_t>(refine(kLanes + l))) *
                 0x1p-62f;
    }
  }
  p.radius = Simd::load(radius);
  p.exponent = Simd::load(exponent);
  p.angle = Simd::load(angle);
}

// `N` groups in lockstep hide each other's latency. normals[16 g + i] for g < N.
template <class Simd, int N>
inline __attribute__((always_inline)) void transform(const Pairs<Simd>* p, float* normals) {
  using F = typename Simd::F;
  F y[N], e[N], log[N], s[N], c[N], t2[N];
  // radius = m * 2^k with m in [sqrt(1/2), sqrt(2)); ln m = y * polynomial(y), y = m - 1.
#define LAZYDP_EACH _Pragma("GCC unroll 8") for (int g = 0; g < N; ++g)
  LAZYDP_EACH {
    const auto bits = Simd::as_int(p[g].radius);
    const auto d = Simd::sub(bits, Simd::set(std::int32_t{0x3f3504f3}));
    e[g] = Simd::sub(p[g].exponent, Simd::to_float(Simd::shift_right_arithmetic(d, 23)));
    y[g] = Simd::sub(
        Simd::as_float(Simd::sub(bits, Simd::bit_and(d, Simd::set(std::int32_t{-0x800000})))),
        Simd::set(1.0f));
    log[g] = Simd::fma(y[g], Simd::set(1.182747987e-01f), Simd::set(-1.890197926e-01f));
  }
  LAZYDP_EACH log[g] = Simd::fma(log[g], y[g], Simd::set(2.060467289e-01f));
  LAZYDP_EACH log[g] = Simd::fma(log[g], y[g], Simd::set(-2.488133954e-01f));
  LAZYDP_EACH log[g] = Simd::fma(log[g], y[g], Simd::set(3.330329831e-01f));
  LAZYDP_EACH log[g] = Simd::fma(log[g], y[g], Simd::set(-5.000196514e-01f));
  LAZYDP_EACH log[g] = Simd::fma(log[g], y[g], Simd::set(1.000003248e+00f));
  // -ln u = exponent * ln 2 - ln m, at least 0 up to rounding
  LAZYDP_EACH log[g] = Simd::mul(log[g], y[g]);
  LAZYDP_EACH log[g] = Simd::sqrt(
      Simd::max(Simd::fms(e[g], Simd::set(0.693147180559945f), log[g]), Simd::set(0.0f)));
  LAZYDP_EACH t2[g] = Simd::mul(p[g].angle, p[g].angle);
  LAZYDP_EACH s[g] = Simd::fma(t2[g], Simd::set(-3.587725850e-05f), Simd::set(2.489871968e-03f));
  LAZYDP_EACH c[g] = Simd::fma(t2[g], Simd::set(-3.188806480e-04f), Simd::set(1.584991550e-02f));
  LAZYDP_EACH s[g] = Simd::fma(s[g], t2[g], Simd::set(-8.074536727e-02f));
  LAZYDP_EACH c[g] = Simd::fma(c[g], t2[g], Simd::set(-3.084242537e-01f));
  LAZYDP_EACH s[g] = Simd::fma(s[g], t2[g], Simd::set(7.853981525e-01f));
  LAZYDP_EACH c[g] = Simd::fma(c[g], t2[g], Simd::set(9.999999724e-01f));
  LAZYDP_EACH {
    const F r0 = Simd::flip_sign(log[g], p[g].words0);
    const F r1 = Simd::flip_sign(log[g], p[g].words1);
    Simd::store_unaligned(normals + kGroup * g, Simd::mul(r0, Simd::fnma(p[g].angle, s[g], c[g])));
    Simd::store_unaligned(normals + kGroup * g + kLanes,
                          Simd::mul(r1, Simd::fma(p[g].angle, s[g], c[g])));
  }
#undef LAZYDP_EACH
}

}  // namespace lazydp::box_muller
