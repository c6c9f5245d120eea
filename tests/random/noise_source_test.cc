#include "lazydp/random/noise_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "lazydp/base/error.h"
#include "tests/support/normality.h"

namespace lazydp {
namespace {

std::vector<float> noise_of(const NoiseCells& cells, std::size_t rows, std::size_t dim) {
  std::vector<float> values(rows * dim, 0.0f);
  std::vector<NoisyRow> noisy;
  for (std::size_t r = 0; r < rows; ++r) noisy.push_back({values.data() + r * dim, r, 1.0f, 1.0f});
  cells.add(noisy, dim);
  return values;
}

TEST(SecureNoise, SumsOfDrawsAreStandardNormal) {
  for (const unsigned draws : {2u, 4u, 16u}) {
    const NoiseSource source(Seed::fixed(draws), draws);
    oracle::Normality normality;
    for (Step t = 1; t <= 4; ++t) {
      normality.add(noise_of(source.table(1, 4000, 64, CellKind::aggregated, t), 4000, 64));
      normality.add(noise_of(source.dense(t), 100, 1024));
    }
    EXPECT_EQ(normality.objections(), "") << draws;
  }
}

TEST(SecureNoise, DrawsAreTheSumOfDistinctCells) {
  const NoiseSource one(Seed::fixed(3), 1);
  const NoiseSource two(Seed::fixed(3), 2);
  const auto first = noise_of(one.table(0, 10, 16, CellKind::each_step, 5), 10, 16);
  const auto sum = noise_of(two.table(0, 10, 16, CellKind::each_step, 5), 10, 16);
  double dot = 0.0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const double second = sum[i] * std::sqrt(2.0) - first[i];  // what the other draw must be
    dot += second * first[i];
  }
  // Independent of the first: the same cell twice would give about +160.
  EXPECT_LT(std::abs(dot), 5.0 * std::sqrt(160.0));
}

TEST(SecureNoise, ShrinksOnlyOnce) {
  const NoiseSource source(Seed::fixed(3), 4);
  std::vector<float> with(16, 1.0f);
  const NoisyRow row = {with.data(), 2, 0.5f, 0.25f};
  source.table(0, 10, 16, CellKind::each_step, 5).add({&row, 1}, 16);
  std::vector<float> noise(16, 0.0f);
  const NoisyRow alone = {noise.data(), 2, 1.0f, 0.25f};
  source.table(0, 10, 16, CellKind::each_step, 5).add({&alone, 1}, 16);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(with[i], 0.5f + noise[i], 1e-6f);
}

TEST(SecureNoise, RefusesANumberOfDrawsThatHasNoCells) {
  EXPECT_THROW(NoiseSource(Seed::fixed(1), 0), UserError);
  EXPECT_THROW(NoiseSource(Seed::fixed(1), 17), UserError);
}

// Whatever cells a call mixes, a cell's noise is the same: its key and its counter are.
TEST(NoiseSource, CellsThatShareAKeyAreThoseOfTheirStepsAndKinds) {
  constexpr std::size_t kDim = 20;
  for (const RowId rows : {RowId{50}, RowId{1} << 37}) {  // 1,024 steps, or 4, share a key
    const NoiseSource source(Seed::fixed(8));
    for (const Step t : {Step{1}, Step{1023}, Step{1024}, Step{5000}, kLastStep}) {
      const KeyedCells keyed = source.sharing_a_key(3, rows, kDim, t);
      EXPECT_TRUE(keyed.hold(t));
      EXPECT_FALSE(keyed.hold(keyed.first - 1) && keyed.first > 0);
      for (const Step step : {keyed.first, t, std::min(keyed.last, kLastStep)}) {
        for (const CellKind kind : {CellKind::each_step, CellKind::aggregated}) {
          std::vector<float> found(kDim, 0.0f), expected(kDim, 0.0f);
          const NoisyRow row = {found.data(), 7, 1.0f, 1.0f, cell_offset(kind, step)};
          keyed.cells.add({&row, 1}, kDim);
          const NoisyRow same = {expected.data(), 7, 1.0f, 1.0f};
          source.table(3, rows, kDim, kind, step).add({&same, 1}, kDim);
          EXPECT_EQ(found, expected) << rows << " rows, step " << step;
        }
      }
    }
  }
}

TEST(Seed, SuccessorOfASecretIsFreshAndOfAFixedOneRepeats) {
  const Seed secret = Seed::from_os();
  EXPECT_TRUE(secret.successor().secret());
  EXPECT_NE(secret.successor().reveal(), secret.successor().reveal());
  const Seed fixed = Seed::fixed(4);
  EXPECT_FALSE(fixed.successor().secret());
  EXPECT_EQ(fixed.successor().reveal(), Seed::fixed(4).successor().reveal());
  EXPECT_NE(fixed.successor().reveal(), fixed.reveal());
}

TEST(Seed, ComesBackFromItsBytes) {
  const Seed secret = Seed::from_os();
  const Seed back = Seed::restored(secret.reveal(), true);
  EXPECT_EQ(back.derive(Purpose::sampling, 3, 9).round_keys,
            secret.derive(Purpose::sampling, 3, 9).round_keys);
}

}  // namespace
}  // namespace lazydp
