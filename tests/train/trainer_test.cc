// The loop itself: allocation, reports, evaluation, ledgers, claims.

#include "lazydp/train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "lazydp/train/claim.h"
#include "lazydp/train/evaluation.h"
#include "tests/support/allocations.h"
#include "tests/support/runs.h"

namespace lazydp {
namespace {

using oracle::plan_of;
using oracle::Settings;
using oracle::World;

Trainer make_trainer(World& world, std::string_view algorithm, const Settings& s) {
  return {plan_of(algorithm, s),
          {.settle_ahead = s.ahead},
          world.seed,
          world.model,
          s.shape.mode,
          world.tables,
          world.data,
          *world.sampler};
}

TEST(Trainer, AStepInSteadyStateAllocatesNothing) {
  for (const Recipe& r : kRecipes) {
    for (const bool ahead : {false, true}) {
      Settings s;
      s.steps = 1200;
      s.sampling_rate = 0.5;
      s.ahead = ahead;
      World world(s.shape, s.key, s.sampling_rate);
      Trainer trainer = make_trainer(world, r.name, s);
      for (int i = 0; i < 1000; ++i) trainer.step();  // batches reach their high-water size
      const std::uint64_t before = oracle::allocations();
      for (int i = 0; i < 50; ++i) trainer.step();
      EXPECT_EQ(oracle::allocations() - before, 0u) << r.name << " ahead " << ahead;
    }
  }
}

TEST(Trainer, ReportsEveryStepAndItsStagesAddUp) {
  const Settings s;
  World world(s.shape, s.key, s.sampling_rate);
  Trainer trainer = make_trainer(world, "lazydp", s);
  for (Step t = 1; t <= s.steps; ++t) {
    const StepReport& report = trainer.step();
    EXPECT_EQ(report.step, t);
    EXPECT_EQ(std::isnan(report.mean_loss), report.examples == 0);
  }
  EXPECT_EQ(trainer.now(), s.steps);
  EXPECT_EQ(trainer.ledger().steps(), s.steps);
}

TEST(Trainer, EagerStepsWriteEveryRowAndLazyOnesOnlyThoseTheyRead) {
  Settings s;
  s.shape = oracle::small_shape({5000, 5000});
  World world(s.shape, s.key, s.sampling_rate);
  Trainer eager = make_trainer(world, "dpsgd-f", s);
  Trainer lazy = make_trainer(world, "lazydp", s);
  EXPECT_GE(eager.step().rows.written, 10'000u);
  EXPECT_LT(lazy.step().rows.written, 200u);
}

TEST(Trainer, EvaluationSeesSettledRowsAndDisturbsNoInvariant) {
  Settings s;
  World world(s.shape, s.key, s.sampling_rate);
  Trainer trainer = make_trainer(world, "lazydp", s);
  for (int i = 0; i < 10; ++i) trainer.step();
  const Metrics metrics = evaluate(trainer, world.data);
  EXPECT_EQ(metrics.examples, 40u);
  std::vector<ExampleId> all(40);
  std::iota(all.begin(), all.end(), 0);
  Batch batch;
  world.data.read(all, batch);
  for (std::size_t k = 0; k < world.tables.size(); ++k) {
    for (const RowId row : batch.bags[k].ids) {
      EXPECT_EQ(trainer.state().table_optimizer.settled_through(k)[static_cast<std::size_t>(row)],
                10u);
    }
  }
  trainer.step();
  trainer.settle_all();
  EXPECT_TRUE(trainer.state().table_optimizer.all_settled(11));
}

TEST(Trainer, SchedulesOfSigmaReachTheLedger) {
  Settings s;
  s.noises = "step:5:0.5";
  World world(s.shape, s.key, s.sampling_rate);
  Trainer trainer = make_trainer(world, "lazydp", s);
  for (Step t = 1; t <= 15; ++t) trainer.step();
  const auto events = trainer.ledger().events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_DOUBLE_EQ(noise_multiplier(events[0]), 1.0);
  EXPECT_DOUBLE_EQ(noise_multiplier(events[2]), 0.25);
  EXPECT_EQ(std::get<SampledGaussian>(events[1]).steps, 5u);
}

// Without noise, a step moves all weights together by no more than its examples' clipped gradients.
TEST(Trainer, ClipsPositivesHoweverMuchTheyWeigh) {
  for (const char* algorithm : {"dpsgd-b", "dpsgd-r", "dpsgd-f", "lazydp"}) {
    Settings s;
    s.sigma = 0.0;
    s.dense_rate = s.rate;
    s.sampling_rate = 0.5;
    Plan plan = plan_of(algorithm, s);
    plan.positive_weight = 1e4;
    World world(s.shape, s.key, s.sampling_rate);
    Trainer trainer(plan, {}, world.seed, world.model, s.shape.mode, world.tables, world.data,
                    *world.sampler);
    const std::vector<float> before = world.weights();
    const auto examples = static_cast<double>(trainer.step().examples);
    const std::vector<float> after = world.weights();
    double moved = 0.0;
    for (std::size_t i = 0; i < before.size(); ++i) moved += std::pow(after[i] - before[i], 2);
    const double most = s.rate * s.clip * examples / plan.mechanism.expected_batch;
    EXPECT_LE(std::sqrt(moved), most * 1.0001) << algorithm;
    EXPECT_GT(std::sqrt(moved), most * 0.05) << algorithm << ": something was learned";
  }
}

TEST(Claim, NamesTheReasonWhereThereIsNone) {
  const Settings s;
  World world(s.shape, s.key, s.sampling_rate);
  for (const auto& [name, reason] :
       {std::pair{"sgd", "no noise"}, {"eana", "EANA"}, {"lazydp", "seed"}}) {
    Trainer trainer = make_trainer(world, name, s);
    trainer.step();
    const Claim c = claim(trainer, 1e-5);
    EXPECT_FALSE(c.holds);
    EXPECT_NE(c.because.find(reason), std::string::npos) << c.because;
  }
}

TEST(Claim, HoldsForASecretSeedAndPoissonSamplesOnly) {
  Settings s;
  World world(s.shape, s.key, s.sampling_rate);
  const Seed secret = Seed::from_os();
  const auto poisson = make_poisson_sampler(secret, 40, s.sampling_rate);
  Trainer trainer(plan_of("lazydp", s), {}, secret, world.model, s.shape.mode, world.tables,
                  world.data, *poisson);
  for (int i = 0; i < 5; ++i) trainer.step();
  const Claim c = claim(trainer, 1e-5);
  EXPECT_TRUE(c.holds);
  EXPECT_DOUBLE_EQ(c.epsilon, epsilon(trainer.ledger(), 1e-5, Accountant::pld));
  const auto shuffled = make_shuffled_sampler(secret, 40, 3);
  Trainer fixed(plan_of("lazydp", s), {}, secret, world.model, s.shape.mode, world.tables,
                world.data, *shuffled);
  fixed.step();
  EXPECT_FALSE(claim(fixed, 1e-5).holds);
}

TEST(Claim, NeedsASecretSampleToo) {
  const Settings s;
  World world(s.shape, s.key, s.sampling_rate);  // whose sampler has a fixed seed
  Trainer trainer(plan_of("lazydp", s), {}, Seed::from_os(), world.model, s.shape.mode,
                  world.tables, world.data, *world.sampler);
  trainer.step();
  EXPECT_FALSE(claim(trainer, 1e-5).holds);
}

TEST(Trainer, RefusesASamplerOfAnotherRateThanItsLedgerCounts) {
  const Settings s;
  World world(s.shape, s.key, s.sampling_rate);
  const auto often = make_poisson_sampler(world.seed, 40, 2.0 * s.sampling_rate);
  EXPECT_THROW(Trainer(plan_of("lazydp", s), {}, world.seed, world.model, s.shape.mode,
                       world.tables, world.data, *often),
               PrivacyError);
}

TEST(Plan, RefusesWhatCannotBeTrained) {
  const auto with = [](auto change) {
    Plan plan = plan_of("lazydp", {});
    change(plan);
    return plan;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(with([](Plan& p) { p.steps = 0; }).validate(), UserError);
  EXPECT_THROW(with([](Plan& p) { p.table_rate = -1.0; }).validate(), UserError);
  EXPECT_THROW(with([&](Plan& p) { p.dense_rate = nan; }).validate(), UserError);
  EXPECT_THROW(with([](Plan& p) { p.weight_decay = 10.0; }).validate(), UserError);
  EXPECT_THROW(with([](Plan& p) { p.mechanism.clip_norm = -1.0; }).validate(), UserError);
  EXPECT_THROW(with([](Plan& p) { p.mechanism.noise_multiplier = -1.0; }).validate(), UserError);
  EXPECT_THROW(with([](Plan& p) { p.mechanism.clip_norm = 1e-20; }).validate(), UserError);
  const auto shrinking = [](const char* schedule) {
    return [schedule](Plan& p) { p.clip_schedule = Schedule::parse(schedule); };
  };
  EXPECT_THROW(with(shrinking("poly:20")).validate(), UserError);
  EXPECT_NO_THROW(with(shrinking("warmup:3,cosine")).validate());
  EXPECT_NO_THROW(with([](Plan&) {}).validate());
}

TEST(Auc, CountsPairsInTheRightOrder) {
  const std::vector<float> labels = {1, 0, 1, 0};
  EXPECT_DOUBLE_EQ(area_under_curve(std::vector<float>{4, 1, 3, 2}, labels), 1.0);
  EXPECT_DOUBLE_EQ(area_under_curve(std::vector<float>{1, 4, 2, 3}, labels), 0.0);
  EXPECT_DOUBLE_EQ(area_under_curve(std::vector<float>{1, 1, 1, 1}, labels), 0.5);
  EXPECT_DOUBLE_EQ(area_under_curve(std::vector<float>{3, 2, 1, 0}, labels), 0.75);
  EXPECT_TRUE(std::isnan(area_under_curve(std::vector<float>{3, 2}, std::vector<float>{1, 1})));
}

}  // namespace
}  // namespace lazydp
