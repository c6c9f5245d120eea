// The memory that a run needs is known before it is allocated.

#include "lazydp/train/memory_needs.h"

#include <gtest/gtest.h>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

MemoryNeeds needs_of(const ModelShape& shape, std::string_view algorithm, std::uint64_t batch,
                     const OptimizerKind& kind = {}) {
  const Recipe& named = recipe(algorithm);
  return memory_needs(shape, {&named, 1}, kind, {}, batch, 10, 0.0);
}

TEST(MemoryNeeds, CountTablesAndFourBytesARowForThoseWhoWait) {
  const ModelShape shape = named_shape("mlperf");
  EXPECT_EQ(needs_of(shape, "lazydp", 1).tables, 187'767'399.0 * 128 * 4);
  EXPECT_EQ(needs_of(shape, "lazydp", 1).history, 187'767'399.0 * 4);
  EXPECT_EQ(needs_of(shape, "dpsgd-f", 1).history, 0.0);
  EXPECT_EQ(needs_of(shape, "sgd", 1).history, 0.0);
  const OptimizerKind decays{.decay = WeightDecay::on};
  EXPECT_EQ(needs_of(shape, "sgd", 1, decays).history, 187'767'399.0 * 4);
  EXPECT_EQ(needs_of(shape, "eana", 1, decays).history, 187'767'399.0 * 8);
  EXPECT_EQ(needs_of(shape, "dpsgd-f", 1, decays).history, 0.0);
}

TEST(MemoryNeeds, DoubleTheTablesForMomenta) {
  const ModelShape shape = named_shape("mlperf");
  const OptimizerKind momentum{.rule = TableRule::momentum};
  for (const char* algorithm : {"sgd", "dpsgd-f", "lazydp"}) {
    EXPECT_EQ(needs_of(shape, algorithm, 1, momentum).history, 187'767'399.0 * (128 * 4 + 4));
  }
}

TEST(MemoryNeeds, CountWhatAdamAndAdagradRememberAndWhichRowsABatchHas) {
  const ModelShape shape = named_shape("mlperf");
  const double rows = 187'767'399.0;
  EXPECT_EQ(needs_of(shape, "sgd", 1, {.rule = TableRule::adam}).history, rows * (2 * 128 * 4 + 8));
  EXPECT_EQ(needs_of(shape, "sgd", 1, {.rule = TableRule::adagrad}).history, rows * (128 * 4 + 8));
}

TEST(MemoryNeeds, FrozenTablesHaveNoHistory) {
  ModelShape shape = named_shape("small");
  shape.table_rows = {1000, 200, 30};
  EXPECT_EQ(needs_of(shape, "lazydp", 1, {.frozen_tables = {0, 2}}).history, 200.0 * 4);
  EXPECT_EQ(needs_of(shape, "lazydp", 1, {.frozen_tables = {0, 2}}).tables,
            needs_of(shape, "lazydp", 1).tables);
}

TEST(MemoryNeeds, GrowWithTheBatchAndWithMaterialisedGradients) {
  const ModelShape shape = named_shape("small");
  EXPECT_GT(needs_of(shape, "lazydp", 100'000).rest, needs_of(shape, "lazydp", 100).rest + 1e8);
  EXPECT_GT(needs_of(shape, "dpsgd-b", 4096).rest, needs_of(shape, "dpsgd-f", 4096).rest + 1e7);
}

TEST(MemoryNeeds, DoNotOverflow) {
  ModelShape shape = named_shape("small");
  shape.table_rows.assign(65'000, 1000);
  shape.pooling = 1'000'000;
  EXPECT_GT(needs_of(shape, "lazydp", 1'000'000'000).rest, 1e20);
}

TEST(MemoryNeeds, AreRefusedWithBothNumbers) {
  EXPECT_NO_THROW(require_memory({.tables = 1000.0}, 1000));
  try {
    require_memory({.tables = 2e9, .history = 1e8}, 1'500'000'000);
    FAIL() << "2.1 GB do not fit into 1.5 GB";
  } catch (const UserError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("2,100,000,000"), std::string::npos) << text;
    EXPECT_NE(text.find("1,500,000,000"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace lazydp
