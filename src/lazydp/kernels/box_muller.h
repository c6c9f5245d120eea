#pragma once
// Transforms random words to normals (Box and Muller 1958), the same on every CPU. A vector holds
// the lanes of Simd::kGroups groups: one of eight lanes, or two.
//
// A group is 16 words: lane l takes words l (radius) and 8 + l (angle) and gives normals l and 8 +
// l. With u = (v + 1/2) / 2^31 from the upper 31 bits v of the first word, -ln u is half the
// squared radius; the angle is uniform over a quarter turn, and the two lowest bits choose the
// quadrant: z = ± sqrt(-ln u) (cos t ∓ sin t).
//
// 31 bits leave gaps far out, and such gaps would distinguish a row that was settled once from one
// that was settled often. An integer with more than nine leading zeros (one word in 512) is
// therefore extended by 32 further bits. So is one with thirteen leading ones: a float next to 1
// holds 24 bits, and some u would be 1 and both normals 0; there it is 1 - u that is rounded. (Few
// words, because each costs: nine leading ones took a tenth of the speed.) The largest radius is
// 9.4, the smallest 3e-10.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace lazydp::box_muller {

inline constexpr std::size_t kGroup = 16;       // words, and normals
inline constexpr std::size_t kLanes = 8;        // pairs in a group
inline constexpr std::size_t kGroupBlocks = 4;  // cipher blocks of a group
inline constexpr int kRefineBits = 21;
inline constexpr int kRefineBelow = 1 << kRefineBits;  // limit of the angle; of the radius twice it
inline constexpr int kLargestRadius = 0x7fffffff;      // largest v
inline constexpr int kRefineNearOne = 1 << 18;         // limit of the radius, from its upper end

// The inputs of the arithmetic, from a group's words.
template <class Simd>
struct Pairs {
  typename Simd::F radius;    // v + 1/2, or its refinement; 2^31 where `beside_one` holds the value
  typename Simd::F exponent;  // log2 of the divisor of `radius`: 31 or 63
  typename Simd::F angle;     // in [-1, 1), quarter-turns / 2
  typename Simd::I words0;    // lowest bit: sign of the first normal
  typename Simd::I words1;    // lowest bit: sign of the second normal
};

// Pairs some of which may have been refined: `beside_one` is u - 1 for a u next to 1, and 0
// elsewhere.
template <class Simd>
struct RefinedPairs : Pairs<Simd> {
  typename Simd::F beside_one;
};

template <class Simd>
inline __attribute__((always_inline)) Pairs<Simd> load(const std::uint32_t* words) {
  Pairs<Simd> p;
  p.words0 = Simd::load_groups(words);
  p.words1 = Simd::load_groups(words + kLanes);
  p.radius = Simd::add(Simd::to_float(Simd::shift_right_logical(p.words0, 1)), Simd::set(0.5f));
  p.exponent = Simd::set(31.0f);
  p.angle =
      Simd::mul(Simd::to_float(Simd::shift_right_arithmetic(p.words1, 1)), Simd::set(0x1p-30f));
  return p;
}

// Adding kMove… to a word moves the words that need more bits, at both ends of a radius and on both
// sides of an angle's 0, to the smallest integers: those below kMoved….
inline constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
inline constexpr std::int32_t kMoveRadius = kLeast + 2 * kRefineNearOne;
inline constexpr std::int32_t kMovedRadius = kMoveRadius + 4 * kRefineBelow;
inline constexpr std::int32_t kMoveAngle = kLeast + 2 * kRefineBelow - 2;
inline constexpr std::int32_t kMovedAngle = kLeast + 4 * kRefineBelow - 2;
static_assert(kMovedAngle <= kMovedRadius);

// Returns whether a lane of the `N` vectors from `words` on may need more bits. Tests several at
// once and errs towards true, because every group on the fast path pays for the test.
template <class Simd, int N>
inline __attribute__((always_inline)) bool any_small(const std::uint32_t* words) {
  auto least = Simd::set(std::numeric_limits<std::int32_t>::max());
#pragma GCC unroll 8
  for (int g = 0; g < N; ++g) {
    const std::uint32_t* from = words + kGroup * Simd::kGroups * g;
    least = Simd::min(least, Simd::add(Simd::load_groups(from), Simd::set(kMoveRadius)));
    least = Simd::min(least, Simd::add(Simd::load_groups(from + kLanes), Simd::set(kMoveAngle)));
  }
  return Simd::any_less(least, Simd::set(kMovedRadius));
}

// Returns the words of one group that do need more bits: bit i for word i.
template <class Simd>
inline __attribute__((always_inline)) unsigned small_words(const std::uint32_t* words) {
  const auto radius = Simd::add(Simd::load_groups(words), Simd::set(kMoveRadius));
  const auto angle = Simd::add(Simd::load_groups(words + kLanes), Simd::set(kMoveAngle));
  return Simd::sign_mask(Simd::less(radius, Simd::set(kMovedRadius))) |
         Simd::sign_mask(Simd::less(angle, Simd::set(kMovedAngle))) << kLanes;
}

// Up to eight pairs from any groups, each with the additional bits that it needs.
template <class Simd>
struct Gathered {
  alignas(32) float radius[kLanes] = {};
  alignas(32) float exponent[kLanes] = {};
  alignas(32) float angle[kLanes] = {};
  alignas(32) float beside_one[kLanes] = {};
  alignas(32) std::uint32_t words0[kLanes] = {};
  alignas(32) std::uint32_t words1[kLanes] = {};

  // Copies pair `l` of a group to pair `k` here; `refine(i)` returns 32 more bits for word i.
  template <class Refine>
  void put(std::size_t k, const std::uint32_t* words, std::size_t l, unsigned small,
           Refine&& refine) {
    words0[k] = words[l];
    words1[k] = words[kLanes + l];
    const std::int64_t v = words0[k] >> 1;
    const std::int64_t a = static_cast<std::int32_t>(words1[k]) >> 1;
    constexpr std::int64_t kMore = std::int64_t{1} << 32;
    const bool refined_radius = (small >> l & 1u) != 0;
    const bool small_angle = (small >> (kLanes + l) & 1u) != 0;
    const bool near_one = refined_radius && v > kLargestRadius / 2;
    const std::int64_t from_end = near_one ? kLargestRadius - v : v;
    const std::int64_t radius_bits = refined_radius ? from_end * kMore + refine(l) : v;
    const std::int64_t angle_bits = small_angle ? a * kMore + refine(kLanes + l) : a;
    const float rounded = static_cast<float>(radius_bits) + 0.5f;
    radius[k] = near_one ? 0x1p31f : rounded;
    exponent[k] = refined_radius && !near_one ? 63.0f : 31.0f;
    beside_one[k] = near_one ? rounded * -0x1p-63f : 0.0f;
    angle[k] = static_cast<float>(angle_bits) * (small_angle ? 0x1p-62f : 0x1p-30f);
  }

  RefinedPairs<Simd> pairs() const {
    return {{Simd::load(radius), Simd::load(exponent), Simd::load(angle), Simd::load_groups(words0),
             Simd::load_groups(words1)},
            Simd::load(beside_one)};
  }
};

// Writes normals[16 g + i] for g < N * Simd::kGroups. `N` vectors in lockstep hide each other's
// latency.
template <class Simd, int N, class SomePairs>
inline __attribute__((always_inline)) void transform(const SomePairs* p, float* normals) {
  constexpr bool kRefined = std::is_same_v<SomePairs, RefinedPairs<Simd>>;
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
    if constexpr (kRefined) y[g] = Simd::add(y[g], p[g].beside_one);  // one of the two is 0
    log[g] = Simd::fma(y[g], Simd::set(1.182747987e-01f), Simd::set(-1.890197926e-01f));
  }
  LAZYDP_EACH log[g] = Simd::fma(log[g], y[g], Simd::set(2.060467289e-01f));
  LAZYDP_EACH log[g] = Simd::fma(log[g], y[g], Simd::set(-2.488133954e-01f));
  LAZYDP_EACH log[g] = Simd::fma(log[g], y[g], Simd::set(3.330329831e-01f));
  LAZYDP_EACH log[g] = Simd::fma(log[g], y[g], Simd::set(-5.000196514e-01f));
  LAZYDP_EACH log[g] = Simd::fma(log[g], y[g], Simd::set(1.000003248e+00f));
  // -ln u = exponent * ln 2 - ln m. Never below 0, even rounded: where the exponent is 0, m is at
  // most 1, and where it is more, ln 2 is twice what ln m can be.
  LAZYDP_EACH log[g] = Simd::mul(log[g], y[g]);
  LAZYDP_EACH log[g] = Simd::sqrt(Simd::fms(e[g], Simd::set(0.693147180559945f), log[g]));
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
    float* to = normals + kGroup * Simd::kGroups * g;
    Simd::store_groups(to, Simd::mul(r0, Simd::fnma(p[g].angle, s[g], c[g])));
    Simd::store_groups(to + kLanes, Simd::mul(r1, Simd::fma(p[g].angle, s[g], c[g])));
  }
#undef LAZYDP_EACH
}

}  // namespace lazydp::box_muller
