#include <gtest/gtest.h>

#include "lazydp/train/plan.h"
#include "tests/support/runs.h"

namespace lazydp {
namespace {

using oracle::plan_of;
using oracle::Settings;
using oracle::World;

double cost(const Plan& plan, Step steps) {
  Ledger ledger;
  for (Step t = 1; t <= steps; ++t) ledger.record(event_of(plan, t));
  return epsilon(ledger, plan.budget->delta, plan.accountant);
}

TEST(Budget, NoiseIsChosenToMeetItUnderASchedule) {
  for (const char* schedule : {"constant", "step:5:0.7", "linear"}) {
    Settings s;
    s.noises = schedule;
    Plan plan = plan_of("lazydp", s);
    plan.budget = Budget{2.0, 1e-5};
    plan.mechanism.noise_multiplier = noise_for(plan);
    EXPECT_LE(cost(plan, plan.steps), 2.0) << schedule;
    plan.mechanism.noise_multiplier *= 1.0 - 2e-4;
    EXPECT_GT(cost(plan, plan.steps), 2.0) << schedule;
  }
}

TEST(Budget, TrainingStopsBeforeTheStepThatWouldExceedIt) {
  Settings s;
  s.steps = 200;
  Plan plan = plan_of("lazydp", s);
  plan.budget = Budget{3.0, 1e-5};
  World world(s.shape, s.key, s.sampling_rate);
  Trainer trainer(plan, {}, world.seed, world.model, s.shape.mode, world.tables, world.data,
                  *world.sampler);
  ASSERT_LT(trainer.last_step(), 200u);
  while (trainer.now() < trainer.last_step()) trainer.step();
  EXPECT_THROW(trainer.step(), PrivacyError);
  EXPECT_LE(epsilon(trainer.ledger(), 1e-5, Accountant::pld), 3.0);
  EXPECT_GT(cost(plan, trainer.now() + 1), 3.0);
}

TEST(Budget, NoStepIsTakenBeyondThePlanThatItWasMetBy) {
  for (const bool budget : {true, false}) {
    const Settings s;
    Plan plan = plan_of("lazydp", s);
    if (budget) {
      plan.budget = Budget{2.0, 1e-5};
      plan.mechanism.noise_multiplier = noise_for(plan);
    }
    World world(s.shape, s.key, s.sampling_rate);
    Trainer trainer(plan, {}, world.seed, world.model, s.shape.mode, world.tables, world.data,
                    *world.sampler);
    ASSERT_EQ(trainer.last_step(), s.steps);
    for (Step t = 1; t <= s.steps; ++t) trainer.step();
    EXPECT_THROW(trainer.step(), PrivacyError);
    EXPECT_EQ(trainer.ledger().steps(), s.steps);
  }
}

TEST(Budget, WhatWasSpentBeforeCounts) {
  Settings s;
  s.steps = 200;
  Plan plan = plan_of("lazydp", s);
  plan.budget = Budget{5.0, 1e-5};
  const Step alone = last_affordable_step(plan, {});
  Ledger spent;
  spent.record({0.08, 0.8, 20});  // more than twenty steps of this plan cost
  EXPECT_LT(last_affordable_step(plan, {20, spent}), alone);
  Ledger all;
  all.record({1.0, 0.5, 20});
  EXPECT_EQ(last_affordable_step(plan, {20, all}), 20u);
  EXPECT_THROW(noise_for(plan, {20, all}), PrivacyError);
  Plan dear = plan;
  dear.budget = Budget{1e-12, 1e-12};
  EXPECT_THROW(noise_for(dear), UserError) << "nothing was spent: no privacy is at stake";
}

}  // namespace
}  // namespace lazydp
