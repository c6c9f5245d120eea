// A state may lead to one model only, and a branch inherits the limits on its state's claim.

#include <gtest/gtest.h>

#include "lazydp/data/privacy_units.h"
#include "lazydp/release/release.h"
#include "tests/checkpoint/going.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

using oracle::Going;
using oracle::names;
using oracle::plan_of;
using oracle::Settings;
using oracle::World;

// MATH: release a copy at step s and continue from the unsettled state; the same gradients would
// get two independent noises, which average out.
TEST(TwoBranches, AreImpossible) {
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  const Settings s;
  const Seed secret = Seed::from_os();
  Going run(s, "lazydp", secret);
  run.steps_through(5);
  folder.save(run.trainer);
  run.steps_through(8);
  folder.save(run.trainer);
  const auto unsettled = run.weights();
  release(std::move(run.owner), {.delta = 1e-5, .shape = s.shape}, folder);
  ASSERT_NE(run.weights(), unsettled) << "rows were late, or the test shows nothing";

  // The trainer is gone, and the only state left is the settled one, under a new key.
  EXPECT_EQ(names(scratch / "checkpoint"), (std::vector<std::string>{"step-0000000008.settled"}));
  const auto left = folder.open();
  EXPECT_TRUE(left->head().settled);
  EXPECT_NE(left->head().seed.reveal(), secret.reveal());
  EXPECT_TRUE(left->head().seed.secret());
  EXPECT_EQ(left->head().spent.steps(), 8u);

  // Going on starts from the very rows that were released, and pays for what was spent.
  Going next(s, "lazydp", left->head().seed);
  folder.restore(*left, next.trainer);
  EXPECT_EQ(next.weights(), run.weights());
  next.trainer.step();
  EXPECT_EQ(next.trainer.ledger().steps(), 9u);
  next.trainer.settle_all();
  EXPECT_TRUE(next.trainer.state().table_optimizer.all_settled(9));
}

TEST(TwoBranches, AreImpossibleByReleasingWithoutTheFolderThatKeepsTheState) {
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  const ReleaseNotes notes = {.delta = 1e-5, .shape = Settings{}.shape};
  Going saved({}, "lazydp", Seed::from_os());
  saved.steps_through(3);
  folder.save(saved.trainer);
  EXPECT_THROW(release(std::move(saved.owner), notes), PrivacyError);

  const auto checkpoint = folder.open();
  Going restored({}, "lazydp", checkpoint->head().seed);
  folder.restore(*checkpoint, restored.trainer);
  EXPECT_THROW(release(std::move(restored.owner), notes), PrivacyError);
}

TEST(TwoBranches, AreImpossibleByGoingBackToAnEarlierState) {
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  const Settings s;
  Going run(s, "lazydp", Seed::from_os());
  run.steps_through(5);
  folder.save(run.trainer);
  run.steps_through(8);
  folder.save(run.trainer);

  const auto earlier = folder.open(1);
  Going back(s, "lazydp", earlier->head().seed);
  folder.restore(*earlier, back.trainer);
  release(std::move(back.owner), {.delta = 1e-5, .shape = s.shape}, folder);
  EXPECT_EQ(names(scratch / "checkpoint"), (std::vector<std::string>{"step-0000000005.settled"}));
}

TEST(CheckpointFolder, ASettledStateTakesNewSettingsAndAFreshKey) {
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {{"a", 1}}, std::nullopt);
  Going run({}, "lazydp", Seed::from_os());
  run.steps_through(3);
  run.trainer.settle_all();
  folder.replace_by_settled(run.trainer);
  const auto key = folder.open()->head().seed.reveal();
  folder.replace_by_settled(run.trainer);
  EXPECT_EQ(folder.open()->head().seed.reveal(), key) << "it was there already";
  folder.change_settings({{"a", 2}});
  folder.replace_by_settled(run.trainer);
  EXPECT_EQ(folder.open()->head().settings, Json({{"a", 2}}));
  EXPECT_NE(folder.open()->head().seed.reveal(), key);
}

// A ledger holds rates and noise, and not why they may be worth nothing.
TEST(CheckpointFolder, AStateForWhichNothingIsClaimedLeadsToNoClaim) {
  const Settings s;
  for (const auto& [algorithm, shuffled, reason] :
       {std::tuple{"eana", false, "EANA"}, {"lazydp", true, "fixed size"}}) {
    const TemporaryFolder scratch;
    CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
    const Seed secret = Seed::from_os();
    {
      World world(s.shape, s.key, s.sampling_rate);
      const auto batches = shuffled ? make_shuffled_sampler(secret, 40, 3)
                                    : make_poisson_sampler(secret, 40, s.sampling_rate);
      Trainer first(plan_of(algorithm, s), {}, secret, world.model, s.shape.mode, world.tables,
                    world.data, *batches);
      for (int i = 0; i < 5; ++i) first.step();
      first.settle_all();
      folder.replace_by_settled(first);
    }
    // The reason outlives a second branch, too.
    for (const Step last : {7u, 9u}) {
      const auto left = folder.open();
      Going next(s, "lazydp", left->head().seed);
      folder.restore(*left, next.trainer);
      next.steps_through(last);
      const Claim claimed = claim(next.trainer, 1e-5);
      EXPECT_FALSE(claimed.holds) << algorithm;
      EXPECT_NE(claimed.because.find("earlier"), std::string::npos) << claimed.because;
      EXPECT_NE(claimed.because.find(reason), std::string::npos) << claimed.because;
      next.trainer.settle_all();
      folder.replace_by_settled(next.trainer);
    }
  }
}

TEST(CheckpointFolder, AStateThatProtectedAnotherUnitLeadsToNoClaim) {
  const Settings s;
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  Going run(s, "lazydp", Seed::from_os());
  run.steps_through(3);
  EXPECT_TRUE(claim(run.trainer, 1e-5).holds);
  run.trainer.settle_all();
  folder.replace_by_settled(run.trainer);

  const auto left = folder.open();
  const std::vector<std::uint64_t> keys(40, 0);
  const PrivacyUnits units(keys);
  const auto persons =
      make_unit_sampler(left->head().seed, units, s.sampling_rate, "all examples of one person");
  World world(s.shape, s.key, s.sampling_rate);
  Trainer next(plan_of("lazydp", s), {}, left->head().seed, world.model, s.shape.mode, world.tables,
               world.data, *persons);
  folder.restore(*left, next);
  next.step();
  const Claim claimed = claim(next, 1e-5);
  EXPECT_FALSE(claimed.holds);
  EXPECT_NE(claimed.because.find("protected one example"), std::string::npos) << claimed.because;
}

TEST(TwoBranches, AreImpossibleAfterACrashThatLeftBothStates) {
  const TemporaryFolder scratch;
  const Settings s;
  Going run(s, "lazydp", Seed::from_os());
  {
    CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
    run.steps_through(8);
    folder.save(run.trainer);
    std::filesystem::copy(scratch / "checkpoint/step-0000000008.unsettled", scratch / "aside");
    run.trainer.settle_all();
    folder.replace_by_settled(run.trainer);
  }
  std::filesystem::copy(scratch / "aside", scratch / "checkpoint/step-0000000008.unsettled");
  const CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  EXPECT_EQ(names(scratch / "checkpoint"), (std::vector<std::string>{"step-0000000008.settled"}));
}

}  // namespace
}  // namespace lazydp
