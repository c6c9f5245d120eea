// Addresses of random draws: distinct cells never share a counter, sub-keys never coincide.

#include "lazydp/random/cell.h"

#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <vector>

#include "lazydp/random/noise_source.h"

namespace lazydp {
namespace {

TEST(Cell, DistinctCellsHaveDisjointBlocks) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  std::size_t cells = 0;
  for (const Purpose purpose : {Purpose::table_noise, Purpose::dense_noise, Purpose::sampling}) {
    for (const CellKind kind : {CellKind::each_step, CellKind::aggregated}) {
      for (const TableId table : {0, 1, 0xFFFF}) {
        for (const RowId row : {RowId{0}, RowId{1}, RowId{255}, RowId{256}, kMaxRows - 1}) {
          for (const Step step : {Step{0}, Step{1}, Step{2}, kLastStep}) {
            for (const std::uint32_t draw : {0u, 1u, 2u, (1u << 20) - 1}) {
              const Counter first = first_block({purpose, kind, table, row, step, draw});
              EXPECT_EQ(first.low & 0x1FFF, 0u) << "13 bits are free for the block number";
              seen.emplace(first.high, first.low);
              ++cells;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), cells);
}

TEST(Cell, RefusesWhatDoesNotFit) {
  EXPECT_THROW(first_block({.row = kMaxRows}), InternalError);
  EXPECT_THROW(first_block({.row = -1}), InternalError);
  EXPECT_THROW(first_block({.step = 0xFFFFFFFF}), InternalError);
  EXPECT_THROW(first_block({.draw = 1u << 20}), InternalError);
}

TEST(Seed, SubKeysDifferByPurposeTableAndRange) {
  const Seed seed = Seed::fixed(5);
  std::set<std::array<std::uint8_t, 176>> keys;
  std::size_t made = 0;
  for (const Purpose p : {Purpose::table_noise, Purpose::dense_noise, Purpose::sampling,
                          Purpose::initialisation, Purpose::public_data}) {
    for (const TableId table : {0, 1, 0xFFFF}) {
      for (const std::uint32_t range : {0u, 1u, 0xFFFFFFFFu}) {
        keys.insert(seed.derive(p, table, range).round_keys);
        ++made;
      }
    }
  }
  EXPECT_EQ(keys.size(), made);
}

TEST(Seed, FromTheSystemIsSecretAndNeverTheSameTwice) {
  const Seed a = Seed::from_os();
  const Seed b = Seed::from_os();
  EXPECT_TRUE(a.secret());
  EXPECT_NE(a.derive(Purpose::sampling, 0, 0).round_keys,
            b.derive(Purpose::sampling, 0, 0).round_keys);
}

TEST(Seed, AFixedSeedIsNoSecretAndRepeats) {
  EXPECT_FALSE(Seed::fixed(1).secret());
  EXPECT_EQ(Seed::fixed(1).derive(Purpose::sampling, 0, 0).round_keys,
            Seed::fixed(1).derive(Purpose::sampling, 0, 0).round_keys);
  EXPECT_NE(Seed::fixed(1).derive(Purpose::sampling, 0, 0).round_keys,
            Seed::fixed(2).derive(Purpose::sampling, 0, 0).round_keys);
}

// 2^44 blocks of a key are enough to tell AES from randomness; a key must be retired before.
TEST(NoiseSource, NoKeyServesMoreThanItsShareOfBlocks) {
  const NoiseSource noise(Seed::fixed(1));
  for (const auto& [rows, dim] : std::vector<std::pair<RowId, std::size_t>>{
           {1, 16}, {40'000'000, 128}, {RowId{1} << 34, 128}, {RowId{1} << 38, 64}}) {
    Step same = 1;
    while (same < 4096 && noise.table(0, rows, dim, CellKind::each_step, same).key.round_keys ==
                              noise.table(0, rows, dim, CellKind::each_step, 0).key.round_keys) {
      ++same;
    }
    const std::size_t blocks_a_row = (dim + 15) / 16 * 4;
    const double blocks =
        static_cast<double>(same) * static_cast<double>(rows) * static_cast<double>(blocks_a_row);
    EXPECT_LE(blocks, 0x1p43) << rows << " x " << dim;
  }
  EXPECT_THROW(noise.table(0, kMaxRows - 1, 4096, CellKind::each_step, 1), UserError);
}

TEST(NoiseSource, PoliciesTablesStepsAndDenseWeightsNeverShareNoise) {
  const NoiseSource noise(Seed::fixed(3));
  std::set<float> first_normals;
  const auto draw = [&](const NoiseCells& cells) {
    float value = 0.0f;
    const NoisyRow row = {&value, 0, 1.0f, 1.0f};
    cells.add({&row, 1}, 1);
    first_normals.insert(value);
  };
  std::size_t drawn = 0;
  for (Step t = 1; t < 50; ++t) {
    for (TableId k = 0; k < 4; ++k) {
      draw(noise.table(k, 100, 1, CellKind::each_step, t));
      draw(noise.table(k, 100, 1, CellKind::aggregated, t));
      drawn += 2;
    }
    draw(noise.dense(t));
    ++drawn;
  }
  EXPECT_GE(first_normals.size() + 1, drawn);  // two equal floats may happen, once
}

}  // namespace
}  // namespace lazydp
