// The checks of ranks, in processes that mpirun started: each of them runs all.

#include <gtest/gtest.h>

#include <memory>

#include "lazydp/base/parallel.h"
#include "lazydp/shard/launch.h"
#include "tests/shard/communicator_checks.h"
#include "tests/support/ranks.h"

namespace lazydp {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): tests take no arguments
Communicator* everyone = nullptr;

TEST(UnderMpi, ThereAreSeveralRanks) {
  EXPECT_GT(everyone->size(), 1);
  EXPECT_EQ(everyone->neighbours(), everyone->size());
}

TEST(UnderMpi, TheyCommunicate) {
  check_everything(*everyone);
}

TEST(UnderMpi, TheModelIsThatOfOneProcess) {
  for (const Recipe& recipe : kRecipes) {
    for (const RowId small : {0, 6}) {
      oracle::Settings s;
      s.ahead = small == 6;
      s.evaluate = true;
      const std::vector<float> expected = oracle::train(recipe.name, s);
      const std::vector<float> weights = oracle::train_on(*everyone, recipe.name, s, small);
      EXPECT_LT(oracle::distance(weights, expected), 2e-5)
          << recipe.name << " on rank " << everyone->rank() << ", copied up to " << small;
    }
  }
}

}  // namespace
}  // namespace lazydp

int main(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  lazydp::set_thread_count(1);
  const std::unique_ptr<lazydp::Communicator> ranks = lazydp::join_ranks();
  lazydp::everyone = ranks.get();
  const int result = RUN_ALL_TESTS();
  if (result != 0) lazydp::end_all_ranks(result);
  return result;
}
