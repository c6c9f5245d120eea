// Parallel loops run every task once, and exceptions reach the caller.

#include "lazydp/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace lazydp {
namespace {

class ThreadCounts : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_thread_count(GetParam()); }
  void TearDown() override { set_thread_count(before_); }
  int before_ = thread_count();
};

TEST_P(ThreadCounts, EveryTaskRunsOnce) {
  std::vector<std::atomic<int>> runs(1000);
  parallel_for(runs.size(), [&](std::size_t i) { ++runs[i]; });
  for (const auto& n : runs) EXPECT_EQ(n, 1);
}

TEST_P(ThreadCounts, BlocksCoverTheRangeWithoutOverlap) {
  std::vector<std::atomic<int>> hits(1003);
  parallel_blocks(hits.size(), 64, [&](std::size_t begin, std::size_t end) {
    EXPECT_LE(end - begin, 64u);
    for (std::size_t i = begin; i < end; ++i) ++hits[i];
  });
  for (const auto& n : hits) EXPECT_EQ(n, 1);
}

TEST_P(ThreadCounts, AnExceptionReachesTheCaller) {
  const auto throws = [](std::size_t i) {
    if (i == 7) throw std::runtime_error("task 7");
  };
  EXPECT_THROW(parallel_for(100, throws), std::runtime_error);
}

TEST_P(ThreadCounts, ALoopInsideALoopRunsToo) {
  std::atomic<int> runs = 0;
  parallel_for(4, [&](std::size_t) { parallel_for(5, [&](std::size_t) { ++runs; }); });
  EXPECT_EQ(runs, 20);
}

TEST_P(ThreadCounts, NothingToDoIsDone) {
  parallel_for(0, [](std::size_t) { FAIL(); });
}

TEST_P(ThreadCounts, ALibraryMayStartNoThreadsWhileAScopeSaysSo) {
  {
    const OneThread scope;
    EXPECT_EQ(thread_count(), 1);
  }
  EXPECT_EQ(thread_count(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(OneTwoFour, ThreadCounts, testing::Values(1, 2, 4));

}  // namespace
}  // namespace lazydp
