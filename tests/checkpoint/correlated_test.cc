// Runs whose noise is correlated stop and go on; a branch begins a block of its own.

#include <gtest/gtest.h>

#include <tuple>

#include "lazydp/privacy/correlated_noise.h"
#include "lazydp/release/release.h"
#include "tests/checkpoint/going.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

using oracle::distance;
using oracle::Going;
using oracle::Settings;

Settings stream_under(std::vector<double> bands) {
  Settings s;
  s.bands = std::move(bands);
  s.stream = 6;
  s.steps = 18;
  s.weight_decay = 0.05;
  s.rates = "warmup:3,cosine";
  s.clips = "step:4:0.8";
  return s;
}

class CorrelatedResumed : public testing::TestWithParam<std::tuple<const char*, std::size_t>> {
 protected:
  const char* algorithm() const { return std::get<0>(GetParam()); }
  Settings settings() const {
    const std::size_t bands = std::get<1>(GetParam());
    return stream_under(bands == 2 ? lambda_bands(0.9) : bisr_bands(bands));
  }
};

// Nothing but histories is kept of cells: they are drawn again.
TEST_P(CorrelatedResumed, RunEndsWhereTheUninterruptedOneDoesBitForBit) {
  Settings s = settings();
  for (const bool ahead : {false, true}) {
    s.ahead = ahead;
    Going whole(s, algorithm(), Seed::fixed(9));
    whole.steps_through(s.steps);
    whole.trainer.settle_all();
    for (const Step at : {1u, 7u, 17u}) {
      const TemporaryFolder scratch;
      CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
      Going first(s, algorithm(), Seed::fixed(9));
      first.steps_through(at);
      folder.save(first.trainer);
      Going second(s, algorithm(), Seed::fixed(9));
      folder.restore(*folder.open(), second.trainer);
      second.steps_through(s.steps);
      second.trainer.settle_all();
      EXPECT_EQ(second.weights(), whole.weights()) << "at " << at;
      EXPECT_TRUE(
          std::ranges::equal(second.trainer.ledger().events(), whole.trainer.ledger().events()));
    }
  }
}

// Returns the weights of a run that goes on from the settled state in a folder, through step
// `last`, and stops once on the way.
std::vector<float> branch(CheckpointFolder& settled, const Settings& s, const char* algorithm,
                          Step last) {
  const TemporaryFolder scratch;
  CheckpointFolder kept(scratch / "checkpoint", {}, std::nullopt);
  const auto state = settled.open();
  const Step from = state->head().step;
  {
    Going first(s, algorithm, state->head().seed);
    settled.restore(*state, first.trainer);
    first.steps_through(from + 1);
    kept.save(first.trainer);
  }
  const auto stopped = kept.open();
  Going run(s, algorithm, stopped->head().seed);
  kept.restore(*stopped, run.trainer);
  run.steps_through(last);
  run.trainer.settle_all();
  EXPECT_EQ(run.trainer.ledger().events().size(), 2u);
  EXPECT_EQ(step_before_block(run.trainer.ledger()), from);
  return run.weights();
}

// The first step of a block adds noise that is not correlated with any: the cells of the old block
// are zero, and are not drawn again under the new key. From the second step on it is.
TEST_P(CorrelatedResumed, ABranchBeginsABlock) {
  const Settings s = settings();
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  Going first(s, algorithm(), Seed::fixed(9));
  first.steps_through(6);
  folder.save(first.trainer);
  first.trainer.settle_all();
  folder.replace_by_settled(first.trainer);
  EXPECT_NE(folder.open()->head().seed.reveal(), Seed::fixed(9).reveal());

  Settings alone = s;
  alone.bands = {1.0};
  const char* eager = "dpsgd-f";
  const auto one_step = branch(folder, s, algorithm(), 7);
  EXPECT_LT(distance(one_step, branch(folder, alone, eager, 7)), 3e-5);
  const auto more = branch(folder, s, algorithm(), 9);
  EXPECT_GT(distance(more, branch(folder, alone, eager, 9)), 1e-3);
  if (algorithm() != std::string("lazydp")) {
    EXPECT_LT(distance(more, branch(folder, s, eager, 9)), 3e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, CorrelatedResumed,
                         testing::Combine(testing::Values("dpsgd-f", "lazydp-no-ans", "lazydp"),
                                          testing::Values(2, 4, 16)));

// Release a copy and go on from the unsettled state: the same gradients would get two noises.
TEST(TwoBranchesOfCorrelatedNoise, AreImpossible) {
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  const Settings s = stream_under(lambda_bands(0.9));
  const Seed secret = Seed::from_os();
  Going run(s, "lazydp", secret);
  run.steps_through(5);
  folder.save(run.trainer);
  run.steps_through(8);
  folder.save(run.trainer);
  const ReleasedModel model =
      release(std::move(run.owner), {.delta = 1e-5, .shape = s.shape}, folder);
  EXPECT_TRUE(model.claim().holds) << model.claim().because;
  EXPECT_NE(model.claim().because.find("zero-out"), std::string::npos);

  const auto left = folder.open();
  EXPECT_TRUE(left->head().settled);
  EXPECT_NE(left->head().seed.reveal(), secret.reveal());
  Going next(s, "lazydp", left->head().seed);
  folder.restore(*left, next.trainer);
  next.trainer.step();
  const auto events = next.trainer.ledger().events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(std::get<CorrelatedGaussian>(events[0]).steps, 8u);
  EXPECT_EQ(std::get<CorrelatedGaussian>(events[1]).after_step, 8u);
}

}  // namespace
}  // namespace lazydp
