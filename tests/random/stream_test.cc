// Uniform streams are pure functions of their address, uniform and unbiased.

#include "lazydp/random/stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace lazydp {
namespace {

TEST(RandomStream, IsAPureFunctionOfItsAddress) {
  RandomStream a(Seed::fixed(1), Purpose::sampling, 2, 3);
  RandomStream b(Seed::fixed(1), Purpose::sampling, 2, 3);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(a.next32(), b.next32());
}

TEST(RandomStream, NeighbouringAddressesAreUnrelated) {
  RandomStream base(Seed::fixed(1), Purpose::sampling, 2, 3);
  RandomStream other_step(Seed::fixed(1), Purpose::sampling, 2, 4);
  RandomStream other_stream(Seed::fixed(1), Purpose::sampling, 3, 3);
  RandomStream other_purpose(Seed::fixed(1), Purpose::initialisation, 2, 3);
  int equal = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t x = base.next32();
    equal += x == other_step.next32();
    equal += x == other_stream.next32();
    equal += x == other_purpose.next32();
  }
  EXPECT_LE(equal, 1);
}

TEST(RandomStream, GoesOnPastTheEndOfACell) {  // a cell has 8,192 blocks of 4 words
  RandomStream stream(Seed::fixed(1), Purpose::public_data, 0, 0);
  std::vector<std::uint32_t> first(4);
  for (auto& x : first) x = stream.next32();
  for (int i = 4; i < 4 * 8192; ++i) stream.next32();
  std::vector<std::uint32_t> next(4);
  for (auto& x : next) x = stream.next32();
  EXPECT_NE(first, next);
}

TEST(RandomStream, UniformHasTheRightMomentsAndStaysInside) {
  RandomStream stream(Seed::fixed(4), Purpose::public_data, 0, 0);
  double sum = 0.0;
  double square = 0.0;
  constexpr int kN = 1'000'000;
  for (int i = 0; i < kN; ++i) {
    const double u = stream.uniform();
    ASSERT_GT(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    square += u * u;
  }
  EXPECT_NEAR(sum / kN, 0.5, 5.0 / std::sqrt(12.0 * kN));
  EXPECT_NEAR(square / kN, 1.0 / 3.0, 5.0 * std::sqrt(4.0 / 45.0 / kN));
}

TEST(RandomStream, BelowIsUnbiased) {  // chi-square with 2 degrees; false alarm 4e-6
  RandomStream stream(Seed::fixed(5), Purpose::public_data, 0, 0);
  std::vector<double> counts(3);
  constexpr int kN = 300'000;
  for (int i = 0; i < kN; ++i) counts[stream.below(3)] += 1.0;
  double chi2 = 0.0;
  for (const double c : counts) chi2 += (c - kN / 3.0) * (c - kN / 3.0) / (kN / 3.0);
  EXPECT_LT(chi2, 25.0);
}

}  // namespace
}  // namespace lazydp
