// Parts that keep their weights, and models that a run begins with. That the other parts train as
// they should is in equivalence_test.cc and ranks_test.cc.

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "lazydp/privacy/accountant.h"
#include "lazydp/train/claim.h"
#include "tests/support/runs.h"

namespace lazydp {
namespace {

using oracle::plan_of;
using oracle::Settings;
using oracle::World;

std::vector<float> of_table(World& world, std::size_t k) {
  Table& table = world.tables[k];
  return {table.weights(), table.weights() + table.bytes() / sizeof(float)};
}

Trainer make_trainer(World& world, const Plan& plan) {
  return {plan,         {},         world.seed,    world.model, world.shape.mode,
          world.tables, world.data, *world.sampler};
}

class Frozen : public testing::TestWithParam<Recipe> {};

TEST_P(Frozen, PartsKeepTheirVeryBitsAndOweNothing) {
  Settings s;
  s.weight_decay = 0.1;
  s.dense_rule = DenseRule::adam;
  s.frozen = {.tables = {0, 2}, .layers = {"bottom.2", "top.0"}};
  for (const TableRule rule : {TableRule::sgd, TableRule::momentum}) {
    s.table_rule = rule;
    World world(s.shape, s.key, s.sampling_rate);
    const World before(s.shape, s.key, s.sampling_rate);
    const auto same = [&](std::size_t k) {
      return of_table(world, k) == of_table(const_cast<World&>(before), k);
    };
    Trainer trainer = make_trainer(world, plan_of(GetParam().name, s));
    for (Step t = 1; t <= s.steps; ++t) trainer.step();
    for (const std::size_t k : {0u, 2u}) {
      EXPECT_TRUE(trainer.state().table_optimizer.settled_through(k).empty()) << "nothing is owed";
      EXPECT_TRUE(trainer.state().table_optimizer.state(k).empty());
    }
    trainer.settle_all();
    EXPECT_TRUE(same(0) && same(2));
    EXPECT_FALSE(same(1));
    const auto changed = [&](const std::string& name) {
      for (const NamedTensor& tensor : world.model.layout()) {
        if (tensor.name != name) continue;
        const auto part = [&](Model& model) {
          return model.parameters().subspan(tensor.first_parameter, tensor.size());
        };
        return !std::ranges::equal(part(world.model), part(const_cast<Dlrm&>(before.model)));
      }
      return false;
    };
    for (const char* kept : {"bottom.2.weight", "bottom.2.bias", "top.0.weight", "top.0.bias"}) {
      EXPECT_FALSE(changed(kept)) << kept;
    }
    for (const char* trained : {"bottom.0.weight", "bottom.0.bias", "top.2.weight", "top.2.bias"}) {
      EXPECT_TRUE(changed(trained)) << trained;
    }
  }
}

TEST_P(Frozen, AllTablesLeaveTheMlpsToTrain) {
  Settings s;
  s.frozen.tables = {0, 1, 2};
  World world(s.shape, s.key, s.sampling_rate);
  std::vector<std::vector<float>> before;
  for (std::size_t k = 0; k < 3; ++k) before.push_back(of_table(world, k));
  const std::vector<float> all = world.weights();
  Trainer trainer = make_trainer(world, plan_of(GetParam().name, s));
  for (Step t = 1; t <= s.steps; ++t) trainer.step();
  trainer.settle_all();
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(of_table(world, k), before[k]);
  EXPECT_GT(oracle::distance(world.weights(), all), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Frozen, testing::ValuesIn(kRecipes), [](const auto& which) {
  std::string name(which.param.name);
  std::erase(name, '-');
  return name;
});

InitialModel that_spent(std::uint64_t steps) {
  InitialModel model{.blake2b = "0", .unit = "one example, added or removed"};
  model.spent.record({0.25, 1.5, steps});
  return model;
}

// A secret seed, so that there is a claim.
double claimed_epsilon(const std::optional<InitialModel>& initial, double delta, Step steps = 8) {
  Settings s;
  World world(s.shape, s.key, s.sampling_rate);
  const Seed secret = Seed::from_os();
  const auto sampler = make_poisson_sampler(secret, 40, s.sampling_rate);
  Plan plan = plan_of("lazydp", s);
  plan.initial = initial;
  Trainer trainer(plan, {}, secret, world.model, s.shape.mode, world.tables, world.data, *sampler);
  for (Step t = 1; t <= steps; ++t) trainer.step();
  const Claim c = claim(trainer, delta);
  EXPECT_TRUE(c.holds) << c.because;
  return c.epsilon;
}

TEST(InitialModel, WhatItSpentIsPartOfTheClaim) {
  const Settings s;
  Ledger both;
  both.record({0.25, 1.5, 20});
  both.record({s.sampling_rate, s.sigma, 8});
  EXPECT_DOUBLE_EQ(claimed_epsilon(that_spent(20), 1e-5), epsilon(both, 1e-5, Accountant::pld));
}

TEST(InitialModel, ThatIsPublicCostsNothing) {
  EXPECT_DOUBLE_EQ(claimed_epsilon(InitialModel{.blake2b = "0", .declared_public = true}, 1e-5),
                   claimed_epsilon(std::nullopt, 1e-5));
}

TEST(InitialModel, CountsInTheBudgetOfItsRun) {
  Settings s;
  Plan plan = plan_of("lazydp", s);
  plan.budget = Budget{8.0, 1e-5};
  const double alone = noise_for(plan);
  plan.initial = that_spent(20);
  EXPECT_GT(noise_for(plan), 1.05 * alone);
  plan.mechanism.noise_multiplier = noise_for(plan);
  Ledger both = plan.initial->spent;
  both.record({s.sampling_rate, plan.mechanism.noise_multiplier, s.steps});
  EXPECT_LE(epsilon(both, 1e-5, Accountant::pld), 8.0);
  plan.initial = that_spent(20'000);
  EXPECT_THROW(noise_for(plan), PrivacyError);
  EXPECT_EQ(last_affordable_step(plan, at_beginning(plan)), 0u);
}

}  // namespace
}  // namespace lazydp
