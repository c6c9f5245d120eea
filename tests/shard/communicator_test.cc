#include "lazydp/shard/communicator.h"

#include <gtest/gtest.h>

#include <atomic>

#include "lazydp/base/error.h"
#include "lazydp/shard/comm_thread.h"
#include "lazydp/shard/launch.h"
#include "tests/shard/communicator_checks.h"

namespace lazydp {
namespace {

TEST(Communicator, AloneIsARankLikeAnother) {
  check_everything(alone());
}

TEST(Communicator, ThreadsAreRanks) {
  for (const int size : {1, 2, 3, 4, 7}) run_as_ranks(size, check_everything);
}

TEST(Communicator, CountsWhatGoesToOthers) {
  run_as_ranks(2, [](Communicator& ranks) {
    const std::vector<std::size_t> counts = {5, 5};
    std::vector<float> out(10, 1.0f);
    std::vector<float> in(10);
    ranks.all_to_all(Slices<const float>{out.data(), counts}, {in.data(), counts});
    EXPECT_EQ(ranks.traffic().bytes, 20u);  // the other five stay
    EXPECT_EQ(ranks.traffic().messages, 1u);
  });
}

TEST(Communicator, ARankThatFailsEndsTheOthers) {
  std::atomic<int> went_on = 0;
  const auto one_fails = [&](Communicator& ranks) {
    if (ranks.rank() == 1) throw UserError("disk full");
    ranks.barrier();
    ++went_on;
  };
  EXPECT_THROW(run_as_ranks(3, one_fails), UserError);
  EXPECT_EQ(went_on, 0);
}

TEST(CommThread, RunsErrandsInTheirOrderWhileItsRankComputes) {
  run_as_ranks(3, [](Communicator& ranks) {
    CommThread comm(ranks);
    std::vector<float> first = {1.0f};
    std::vector<float> second = {10.0f};
    const auto one = comm.send([&](Communicator& r) { r.add_up(std::span(first)); });
    const auto two = comm.send([&](Communicator& r) { r.add_up(std::span(second)); });
    comm.wait(two);
    EXPECT_EQ(first[0], 3.0f);  // the one before is done too
    EXPECT_EQ(second[0], 30.0f);
    comm.wait(one);
    comm.run([](Communicator& r) { r.barrier(); });
  });
}

TEST(CommThread, WhatAnErrandThrowsReachesWhoWaits) {
  CommThread comm(alone());
  const auto bad = comm.send([](Communicator&) { throw IoError("cable"); });
  EXPECT_THROW(comm.wait(bad), IoError);
  EXPECT_THROW(comm.run([](Communicator&) {}), IoError);
}

}  // namespace
}  // namespace lazydp
