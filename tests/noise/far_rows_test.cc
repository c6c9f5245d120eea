// Rows far apart in a huge table: no two of them may share noise.

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

#include "lazydp/noise/sgd_tables.h"

namespace lazydp {
namespace {

constexpr RowId kRows = 4;
constexpr std::size_t kDim = 16;

// Returns a part of a table, which begins at row `first`, after two steps of noise alone.
std::vector<float> noise_from(RowId first, NoisePolicy policy, NoisePasses kernels) {
  std::vector<Table> tables;
  tables.emplace_back(TableId{3}, RowRange{first, kRows}, RowId{1} << 39, kDim);
  const NoiseSource noise(Seed::fixed(7));
  VarianceClock clock;
  SgdTables updates(policy, tables, clock, noise, WeightDecay::off, kernels);
  StageClock stages;
  const Bags none;
  const Matrix no_gradient(0, kDim);
  const TableGradient gradient{&none, Pooling::sum, no_gradient.view()};
  for (int step = 0; step < 2; ++step) {
    updates.apply(clock.open(0.5, 1.0, 1.0), {&gradient, 1}, stages);
  }
  updates.settle_all(clock.now());
  return {tables[0].weights(), tables[0].weights() + kRows * kDim};
}

TEST(FarRows, NeverShareNoise) {
  for (const NoisePolicy policy :
       {NoisePolicy::every_row, NoisePolicy::lazy_each_step, NoisePolicy::lazy_aggregated}) {
    for (const NoisePasses kernels : {NoisePasses::fused, NoisePasses::split}) {
      std::set<float> seen;
      std::size_t drawn = 0;
      for (const int bits : {8, 16, 24, 31, 32, 33, 38}) {
        for (const float x : noise_from((RowId{1} << bits) + 1, policy, kernels)) {
          seen.insert(x);
          ++drawn;
        }
      }
      // Two of 448 floats agree by chance once in a hundred runs; rows that share noise: sixteen.
      EXPECT_GE(seen.size() + 4, drawn) << "policy " << static_cast<int>(policy);
    }
  }
}

TEST(FarRows, HaveTheNoiseOfTheirNumberWhereverThePartBegins) {
  const RowId far = (RowId{1} << 33) + 5;
  const auto here = noise_from(far, NoisePolicy::lazy_aggregated, NoisePasses::fused);
  const auto before = noise_from(far - 1, NoisePolicy::lazy_aggregated, NoisePasses::fused);
  for (std::size_t i = 0; i < (kRows - 1) * kDim; ++i) EXPECT_EQ(here[i], before[i + kDim]);
}

}  // namespace
}  // namespace lazydp
