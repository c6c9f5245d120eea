#include "lazydp/shard/layout.h"

#include <gtest/gtest.h>

#include "lazydp/base/error.h"
#include "lazydp/data/samplers.h"
#include "lazydp/embedding/first_weights.h"
#include "lazydp/embedding/table.h"

namespace lazydp {
namespace {

TEST(Layout, EveryRowHasOneOwnerAndPartsAreEqualToARow) {
  const std::vector<RowId> rows = {2, 3, 5, 64, 1000, 999983};
  for (const int ranks : {2, 3, 4, 7, 64}) {
    const Layout layout(rows, ranks, 0);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      ASSERT_FALSE(layout.copied(k));
      RowId next = 0;
      for (int p = 0; p < ranks; ++p) {
        const RowRange range = layout.range(k, p);
        ASSERT_EQ(range.first, next);
        ASSERT_GE(range.count, rows[k] / ranks);
        ASSERT_LE(range.count, rows[k] / ranks + 1);
        if (range.count > 0) {
          ASSERT_EQ(layout.owner(k, range.first), p);
          ASSERT_EQ(layout.owner(k, range.first + range.count - 1), p);
        }
        next += range.count;
      }
      ASSERT_EQ(next, rows[k]);
    }
  }
}

TEST(Layout, SmallTablesAreCopied) {
  const std::vector<RowId> rows = {10, 11};
  const Layout layout(rows, 4, 10);
  EXPECT_TRUE(layout.copied(0));
  EXPECT_FALSE(layout.copied(1));
  EXPECT_EQ(layout.range(0, 3).count, 10);
  EXPECT_EQ(Layout(rows, 1, 0).range(1, 0).count, 11);
}

TEST(Layout, RefusesMoreRowsThanIdsCanName) {
  const std::vector<RowId> rows = {RowId{1} << 33};
  EXPECT_THROW(Layout(rows, 2, 0), UserError);
  EXPECT_NO_THROW(Layout(rows, 5, 0));
}

TEST(Layout, PartsOfATableStartAsTheWholeDoes) {
  const std::vector<RowId> rows = {37};
  Table whole(0, 37, 8);
  initialise(whole, Seed::fixed(4));
  const Layout layout(rows, 3, 0);
  for (int p = 0; p < 3; ++p) {
    std::vector<Table> tables = make_tables(layout, p, 8);
    initialise(tables[0], Seed::fixed(4));
    for (RowId r = 0; r < tables[0].rows(); ++r) {
      for (std::size_t j = 0; j < 8; ++j) {
        ASSERT_EQ(tables[0].row(r)[j], whole.row(tables[0].first_row() + r)[j]);
      }
    }
  }
}

TEST(PartOfSample, PartsAreTheSampleWhateverTheRanks) {
  const auto whole = make_poisson_sampler(Seed::fixed(9), 1000, 0.02);
  for (const int ranks : {1, 2, 3, 8, 50}) {
    for (Step t = 1; t <= 20; ++t) {
      Sample sample;
      whole->draw(t, sample);
      const std::vector<ExampleId> expected = sample.examples;
      std::vector<ExampleId> all;
      for (int p = 0; p < ranks; ++p) {
        make_part_of_sample(*whole, p, ranks)->draw(t, sample);
        const std::vector<ExampleId>& part = sample.examples;
        ASSERT_LE(part.size(), expected.size() / static_cast<std::size_t>(ranks) + 1);
        all.insert(all.end(), part.begin(), part.end());
      }
      ASSERT_EQ(all, expected);
    }
  }
}

TEST(PartOfSample, SaysOfItselfWhatTheWholeSays) {
  const auto whole = make_poisson_sampler(Seed::from_os(), 1000, 0.02);
  const auto part = make_part_of_sample(*whole, 1, 3);
  EXPECT_EQ(part->sampling(), Sampling::poisson);
  EXPECT_TRUE(part->secret());
  EXPECT_EQ(part->rate(), 0.02);
  EXPECT_EQ(part->unit(), whole->unit());
  const auto shuffled = make_shuffled_sampler(Seed::fixed(1), 9, 3);
  EXPECT_EQ(make_part_of_sample(*shuffled, 0, 2)->sampling(), Sampling::shuffled);
}

}  // namespace
}  // namespace lazydp
