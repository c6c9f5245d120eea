// Counts the operations of the noise kernel by running it on portable vectors that count.

#include <array>
#include <utility>

#include "lazydp/kernels/intensity.h"
#include "lazydp/kernels/noise_body.h"
#include "lazydp/kernels/simd_portable.h"

namespace lazydp {
namespace {

struct CountingSimd : PortableSimd {
  using Narrow = CountingSimd;
  // The kernel calls static functions, so the counter must be static.
  static inline thread_local std::size_t operations = 0;  // NOLINT(*-non-const-global-variables)

  template <class Result>
  static Result counted(Result result, std::size_t cost = 1) {
    operations += cost;
    return result;
  }

  static F add(F a, F b) { return counted(PortableSimd::add(a, b)); }
  static F sub(F a, F b) { return counted(PortableSimd::sub(a, b)); }
  static I sub(I a, I b) { return counted(PortableSimd::sub(a, b)); }
  static F mul(F a, F b) { return counted(PortableSimd::mul(a, b)); }
  static F max(F a, F b) { return counted(PortableSimd::max(a, b)); }
  static F sqrt(F a) { return counted(PortableSimd::sqrt(a)); }
  static F fma(F a, F b, F c) { return counted(PortableSimd::fma(a, b, c)); }
  static F fnma(F a, F b, F c) { return counted(PortableSimd::fnma(a, b, c)); }
  static F fms(F a, F b, F c) { return counted(PortableSimd::fms(a, b, c)); }
  static F flip_sign(F a, I bits) {  // counts as a shift and an exclusive or
    return counted(PortableSimd::flip_sign(a, bits), 2);
  }
  static F to_float(I a) { return counted(PortableSimd::to_float(a)); }
  static I bit_and(I a, I b) { return counted(PortableSimd::bit_and(a, b)); }
  static I shift_right_logical(I a, int n) {
    return counted(PortableSimd::shift_right_logical(a, n));
  }
  static I shift_right_arithmetic(I a, int n) {
    return counted(PortableSimd::shift_right_arithmetic(a, n));
  }
  static I add(I a, I b) { return counted(PortableSimd::add(a, b)); }
  static I min(I a, I b) { return counted(PortableSimd::min(a, b)); }
  static I less(I a, I b) { return counted(PortableSimd::less(a, b)); }
  static unsigned sign_mask(I a) { return counted(PortableSimd::sign_mask(a)); }
  static bool any_less(I a, I b) {  // counts as a comparison and the gathering of its bits
    return counted(PortableSimd::any_less(a, b), 2);
  }
  // A vector holds two blocks; each has ten rounds and the first key.
  template <class Next>
  static void encrypt(const AesKey& key, Next&& next, std::uint32_t* words, std::size_t blocks) {
    constexpr std::size_t kRounds = 11;
    operations += kRounds * ((blocks + 1) / 2);
    PortableSimd::encrypt(key, std::forward<Next>(next), words, blocks);
  }
  static I next(I a) { return counted(PortableSimd::next(a)); }
};

}  // namespace

double noise_operations_a_vector() {
  constexpr std::size_t kVectors = kChunkWords / box_muller::kLanes;
  std::array<float, kChunkWords> normals;
  CountingSimd::operations = 0;
  fill_normals_body<CountingSimd>(expand_key({}), RowCounters{.refined_low = kChunkWords}, normals);
  return static_cast<double>(CountingSimd::operations) / kVectors;
}

}  // namespace lazydp
