#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

#include "lazydp/checkpoint/checkpoint_folder.h"
#include "tests/checkpoint/going.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

using oracle::Going;
using oracle::names;
using oracle::plan_of;
using oracle::Settings;

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

class ResumedWithMomentum : public testing::TestWithParam<const char*> {};

TEST_P(ResumedWithMomentum, RunEndsWhereTheUninterruptedOneDoesBitForBit) {
  Settings s;
  s.table_rule = TableRule::momentum;
  s.rate = 0.1;
  s.weight_decay = 0.1;
  Going whole(s, GetParam(), Seed::fixed(9));
  whole.steps_through(s.steps);
  whole.trainer.settle_all();
  for (const Step at : {1u, 7u}) {
    const TemporaryFolder scratch;
    CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
    Going first(s, GetParam(), Seed::fixed(9));
    first.steps_through(at);
    folder.save(first.trainer);
    Going second(s, GetParam(), Seed::fixed(9));
    folder.restore(*folder.open(), second.trainer);
    second.steps_through(s.steps);
    second.trainer.settle_all();
    EXPECT_EQ(second.weights(), whole.weights()) << at;

    // Momenta are part of the settled state, too; without them the state is another optimizer's.
    first.trainer.settle_all();
    folder.replace_by_settled(first.trainer);
    Going branch(s, GetParam(), folder.open()->head().seed);
    folder.restore(*folder.open(), branch.trainer);
    for (std::size_t k = 0; k < s.shape.tables(); ++k) {
      EXPECT_TRUE(std::ranges::equal(branch.trainer.state().table_optimizer.state(k).at(0).values,
                                     first.trainer.state().table_optimizer.state(k).at(0).values));
    }
    Settings plain = s;
    plain.table_rule = TableRule::sgd;
    Going other(plain, GetParam(), folder.open()->head().seed);
    EXPECT_THROW(folder.restore(*folder.open(), other.trainer), UserError);
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, ResumedWithMomentum,
                         testing::Values("sgd", "dpsgd-f", "eana", "lazydp-no-ans", "lazydp"),
                         [](const auto& which) {
                           std::string name = which.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(ResumedWithAdaptiveTables, RunEndsWhereTheUninterruptedOneDoesBitForBit) {
  Settings s;
  s.rate = 0.02;
  for (const TableRule rule : {TableRule::adam, TableRule::adagrad}) {
    s.table_rule = rule;
    Going whole(s, "sgd", Seed::fixed(9));
    whole.steps_through(s.steps);
    const TemporaryFolder scratch;
    CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
    Going first(s, "sgd", Seed::fixed(9));
    first.steps_through(6);
    folder.save(first.trainer);
    Going second(s, "sgd", Seed::fixed(9));
    folder.restore(*folder.open(), second.trainer);
    second.steps_through(s.steps);
    EXPECT_EQ(second.weights(), whole.weights());
    first.trainer.settle_all();
    folder.replace_by_settled(first.trainer);
    Going settled(s, "sgd", Seed::fixed(9));
    folder.restore(*folder.open(), settled.trainer);
    for (const TableState& state : settled.trainer.state().table_optimizer.state(2)) {
      EXPECT_GT(std::ranges::count_if(state.values, [](float x) { return x != 0.0f; }), 0)
          << state.name << " is part of the settled state";
    }
  }
}

TEST(ResumedWithFrozenParts, RunEndsWhereTheUninterruptedOneDoesBitForBit) {
  Settings s;
  s.frozen = {.tables = {0, 2}, .layers = {"top.0"}};
  Going whole(s, "lazydp", Seed::fixed(9));
  whole.steps_through(s.steps);
  whole.trainer.settle_all();
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  Going first(s, "lazydp", Seed::fixed(9));
  first.steps_through(6);
  folder.save(first.trainer);
  Going second(s, "lazydp", Seed::fixed(9));
  folder.restore(*folder.open(), second.trainer);
  second.steps_through(s.steps);
  second.trainer.settle_all();
  EXPECT_EQ(second.weights(), whole.weights());

  // A settled state owes nothing to any table: it may go on with other parts frozen.
  first.trainer.settle_all();
  folder.replace_by_settled(first.trainer);
  s.frozen = {.tables = {1}, .layers = {}};
  Going branch(s, "lazydp", folder.open()->head().seed);
  folder.restore(*folder.open(), branch.trainer);
  EXPECT_EQ(branch.weights(), first.weights());
  branch.steps_through(s.steps);
}

// From a settled state a run may branch to another rule, which then starts with nothing.
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
  EXPECT_EQ(branch.trainer.state().dense_optimizer.steps(), 0u);
  for (const auto state : branch.trainer.state().dense_optimizer.state()) {
    EXPECT_TRUE(std::ranges::all_of(state, [](float x) { return x == 0.0f; }));
  }
  Going same(s, "lazydp", folder.open()->head().seed);
  folder.restore(*folder.open(), same.trainer);
  EXPECT_EQ(same.trainer.state().dense_optimizer.steps(), 6u);
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

}  // namespace
}  // namespace lazydp
