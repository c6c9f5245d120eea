#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

#include "lazydp/data/units.h"
#include "lazydp/train/checkpoint_folder.h"
#include "lazydp/train/release.h"
#include "tests/support/runs.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

using oracle::plan_of;
using oracle::Settings;
using oracle::World;

std::vector<std::string> names(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    found.push_back(entry.path().filename().string());
  }
  std::ranges::sort(found);
  return found;
}

// A world and a trainer in it, as a run starts or as it goes on.
struct Going : World {
  std::unique_ptr<Sampler> batches;
  Trainer trainer;

  Going(const Settings& s, std::string_view algorithm, const Seed& seed_of_run)
      : World(s.shape, s.key, s.sampling_rate),
        batches(make_poisson_sampler(seed_of_run, 40, s.sampling_rate)),
        trainer(plan_of(algorithm, s), {.settle_ahead = s.ahead}, seed_of_run, model, s.shape.mode,
                tables, data, *batches) {}

  void steps_through(Step last) {
    while (trainer.now() < last) trainer.step();
  }
};

class Resumed : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(Resumed, RunEndsWhereTheUninterruptedOneDoesBitForBit) {
  Settings s;
  s.ahead = std::get<1>(GetParam());
  s.weight_decay = 0.05;
  s.rates = "warmup:3,cosine";
  s.noises = "step:4:0.8";
  const char* algorithm = std::get<0>(GetParam());
  Going whole(s, algorithm, Seed::fixed(9));
  whole.steps_through(s.steps);
  whole.trainer.settle_all();

  for (const Step at : {1u, 7u, 14u}) {
    const TemporaryFolder scratch;
    {
      CheckpointFolder folder(scratch / "checkpoint", {{"a", 1}}, std::nullopt);
      Going first(s, algorithm, Seed::fixed(9));
      first.steps_through(at);
      folder.save(first.trainer);
    }
    CheckpointFolder folder(scratch / "checkpoint", {{"a", 1}}, std::nullopt);
    const auto checkpoint = folder.open();
    EXPECT_EQ(checkpoint->head().step, at);
    EXPECT_EQ(checkpoint->head().settings, Json({{"a", 1}}));
    Going second(s, algorithm, checkpoint->head().seed);
    folder.restore(*checkpoint, second.trainer);
    EXPECT_EQ(second.trainer.ledger().steps(), at);
    second.steps_through(s.steps);
    second.trainer.settle_all();
    EXPECT_EQ(second.weights(), whole.weights()) << algorithm << " at " << at;
    EXPECT_TRUE(
        std::ranges::equal(second.trainer.ledger().events(), whole.trainer.ledger().events()));
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Resumed,
                         testing::Combine(testing::Values("sgd", "dpsgd-f", "eana", "lazydp-no-ans",
                                                          "lazydp"),
                                          testing::Bool()));

class ResumedWithRule : public testing::TestWithParam<DenseRule> {};

TEST_P(ResumedWithRule, RunEndsWhereTheUninterruptedOneDoesBitForBit) {
  Settings s;
  s.dense_rule = GetParam();
  s.dense_rate = 0.02;
  Going whole(s, "lazydp", Seed::fixed(9));
  whole.steps_through(s.steps);
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  Going first(s, "lazydp", Seed::fixed(9));
  first.steps_through(6);
  folder.save(first.trainer);
  Going second(s, "lazydp", Seed::fixed(9));
  folder.restore(*folder.open(), second.trainer);
  second.steps_through(s.steps);
  EXPECT_EQ(second.weights(), whole.weights());
}

// From a settled state somebody may branch to another rule, which then starts with nothing.
TEST_P(ResumedWithRule, ABranchMayChooseAnotherRule) {
  Settings s;
  s.dense_rule = GetParam();
  s.dense_rate = 0.02;
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  Going first(s, "lazydp", Seed::fixed(9));
  first.steps_through(6);
  folder.save(first.trainer);
  Settings other = s;
  other.dense_rule = s.dense_rule == DenseRule::adam ? DenseRule::adagrad : DenseRule::adam;
  Going refused(other, "lazydp", Seed::fixed(9));
  EXPECT_THROW(folder.restore(*folder.open(), refused.trainer), UserError) << "not settled";

  first.trainer.settle_all();
  folder.replace_by_settled(first.trainer);
  Going branch(other, "lazydp", folder.open()->head().seed);
  folder.restore(*folder.open(), branch.trainer);
  EXPECT_EQ(branch.weights(), first.weights());
  EXPECT_EQ(branch.trainer.dense_optimizer().steps(), 0u);
  for (const auto state : branch.trainer.dense_optimizer().state()) {
    EXPECT_TRUE(std::ranges::all_of(state, [](float x) { return x == 0.0f; }));
  }
  Going same(s, "lazydp", folder.open()->head().seed);
  folder.restore(*folder.open(), same.trainer);
  EXPECT_EQ(same.trainer.dense_optimizer().steps(), 6u);
}

INSTANTIATE_TEST_SUITE_P(Rules, ResumedWithRule,
                         testing::Values(DenseRule::sgd, DenseRule::momentum, DenseRule::adam,
                                         DenseRule::adagrad));

TEST(CheckpointFolder, KeepsTheNewestTwoAndGoesBackToTheFirstOfThem) {
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  EXPECT_TRUE(folder.empty());
  EXPECT_THROW(folder.open(), UserError);
  Going run({}, "lazydp", Seed::fixed(9));
  for (const Step at : {2u, 4u, 6u}) {
    run.steps_through(at);
    folder.save(run.trainer);
  }
  EXPECT_EQ(names(scratch / "checkpoint"),
            (std::vector<std::string>{"step-0000000004.unsettled", "step-0000000006.unsettled"}));
  EXPECT_EQ(folder.open()->head().step, 6u);
  EXPECT_EQ(folder.open(1)->head().step, 4u);
  EXPECT_THROW(folder.open(2), UserError);
}

TEST(CheckpointFolder, IsItsOwnersAlone) {
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  Going run({}, "lazydp", Seed::fixed(9));
  run.steps_through(1);
  folder.save(run.trainer);
  namespace fs = std::filesystem;
  EXPECT_EQ(fs::status(scratch / "checkpoint").permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(scratch / "checkpoint/step-0000000001.unsettled").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST(CheckpointFolder, SavingSettlesNothing) {
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  Settings s;
  Going saved(s, "lazydp", Seed::fixed(9));
  Going not_saved(s, "lazydp", Seed::fixed(9));
  for (Step t = 1; t <= s.steps; ++t) {
    saved.trainer.step();
    not_saved.trainer.step();
    folder.save(saved.trainer);
    EXPECT_EQ(saved.weights(), not_saved.weights());
  }
}

TEST(CheckpointFolder, ACheckpointOfAnotherModelIsRefused) {
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  Going run({}, "lazydp", Seed::fixed(9));
  run.steps_through(2);
  folder.save(run.trainer);
  Settings wider;
  wider.shape = oracle::small_shape({1, 6, 51});
  Going other(wider, "lazydp", Seed::fixed(9));
  EXPECT_THROW(folder.restore(*folder.open(), other.trainer), UserError);
  Going eager({}, "dpsgd-f", Seed::fixed(9));
  EXPECT_THROW(folder.restore(*folder.open(), eager.trainer), UserError);
}

// MATH: release a copy at step s and go on from the unsettled state; the same gradients would get
// two independent noises, which average out.
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
  release(std::move(run.trainer), {.delta = 1e-5, .shape = s.shape});
  ASSERT_NE(run.weights(), unsettled) << "rows were late, or the test shows nothing";

  // The trainer takes no more steps, and the only state left is the settled one, under a new key.
  EXPECT_THROW(run.trainer.step(), PrivacyError);
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
  EXPECT_TRUE(next.trainer.updates().all_settled(9));
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
  release(std::move(back.trainer), {.delta = 1e-5, .shape = s.shape});
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
  const Units units(keys);
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
