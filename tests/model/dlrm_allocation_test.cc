// Counts the allocations of a training step, by replacing the global operator new.

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "lazydp/model/dlrm.h"
#include "tests/model/dlrm_fixture.h"

namespace {

std::atomic<long>& allocations() {
  static std::atomic<long> count{0};
  return count;
}

}  // namespace

// Not inlined, or the compiler takes free() for a mistake.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations().fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

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
  const long before = allocations();
  for (int repeat = 0; repeat < 3; ++repeat) {
    step(large.batch);
    step(other.batch);
  }
  EXPECT_EQ(allocations() - before, 0);
  EXPECT_EQ(large.model.logits().data(), memory);
}

TEST(Dlrm, TheAllocationCounterCounts) {
  const long before = allocations();
  const std::vector<float> something(10);
  EXPECT_EQ(allocations() - before, 1) << something.size();
}

}  // namespace
}  // namespace lazydp
