// Counts the allocations of a training step.

#include <gtest/gtest.h>

#include <vector>

#include "lazydp/model/dlrm.h"
#include "tests/model/dlrm_fixture.h"
#include "tests/support/allocations.h"

namespace lazydp {
namespace {

TEST(Dlrm, AllocatesNothingOnceABatchSizeHasBeenSeen) {
  const ModelShape shape = named_shape("small", 0.01);
  testing::DlrmFixture large(shape, 300);
  testing::DlrmFixture other(shape, 211);
  const std::vector<float> weight(300, 0.5f);
  const auto step = [&](const Batch& batch) {
    large.model.begin_batch(batch.size);
    large.model.forward(batch);
    large.model.backward(batch, {});
    large.model.backward(batch, std::span(weight).first(batch.size));
  };
  step(large.batch);
  const float* const memory = large.model.logits().data();
  const std::uint64_t before = oracle::allocations();
  for (int repeat = 0; repeat < 3; ++repeat) {
    step(large.batch);
    step(other.batch);
  }
  EXPECT_EQ(oracle::allocations() - before, 0u);
  EXPECT_EQ(large.model.logits().data(), memory);
}

TEST(Dlrm, TheAllocationCounterCounts) {
  const std::uint64_t before = oracle::allocations();
  const std::vector<float> something(10);
  EXPECT_EQ(oracle::allocations() - before, 1u) << something.size();
}

}  // namespace
}  // namespace lazydp
