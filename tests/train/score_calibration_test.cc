// Scores are calibrated once, after the last step, at a price that the ledger knew before.

#include "lazydp/train/score_calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <variant>
#include <vector>

#include "lazydp/data/privacy_units.h"
#include "lazydp/privacy/accountant.h"
#include "lazydp/train/score_counts.h"
#include "tests/support/runs.h"

namespace lazydp {
namespace {

using oracle::Settings;
using oracle::World;

Plan calibrating(const Settings& s) {
  Plan plan = oracle::plan_of("lazydp", s);
  plan.calibrates_scores = true;
  return plan;
}

// Forty examples are few: with more noise, nothing would be known of their scores.
Settings with_little_noise() {
  Settings s;
  s.sigma = 1e-3;
  return s;
}

// A run of its own world, trained to the end.
struct SmallRun {
  explicit SmallRun(const Settings& s, Plan plan)
      : world(s.shape, s.key, s.sampling_rate, 40, s.examples_per_unit),
        trainer(plan, {}, world.seed, world.model, s.shape.mode, world.tables, world.data,
                *world.sampler) {}

  void train() {
    while (trainer.now() < trainer.plan().steps) trainer.step();
  }
  std::vector<float> logits() {
    Batch batch;
    world.data.read(std::vector<ExampleId>{0, 1, 2, 3}, batch);
    const auto some = trainer.predict(batch);
    return {some.begin(), some.end()};
  }

  World world;
  Trainer trainer;
};

TEST(CalibrateScores, RecordsWhatThePlanCounted) {
  const Settings s;
  const Plan plan = calibrating(s);
  SmallRun run(s, plan);
  run.train();
  EXPECT_EQ(run.trainer.ledger().events().size(), 1u);
  calibrate_scores(run.trainer, {run.world.data});
  const Ledger planned = ledger_through(plan, at_beginning(plan), plan.steps);
  const auto spent = run.trainer.ledger().events();
  ASSERT_EQ(spent.size(), 2u);
  EXPECT_TRUE(std::ranges::equal(spent, planned.events()));
  EXPECT_EQ(std::get<Gaussian>(spent[1]), (Gaussian{calibration_noise(plan), 1}));
}

TEST(CalibrateScores, CostsLittle) {
  for (const double rate : {0.001, 0.05, 1.0}) {
    for (const double sigma : {0.6, 1.0, 4.0}) {
      Plan plan = oracle::plan_of("lazydp", {.sigma = sigma, .steps = 400});
      plan.mechanism.sampling_rate = rate;
      const Ledger steps = ledger_through(plan, {}, plan.steps);
      plan.calibrates_scores = true;
      const Ledger all = ledger_through(plan, {}, plan.steps);
      const double before = epsilon(steps, 1e-6, Accountant::pld);
      const double after = epsilon(all, 1e-6, Accountant::pld);
      EXPECT_GT(after, before) << rate << ", " << sigma;
      EXPECT_LT(after, 1.03 * before) << rate << ", " << sigma;
    }
  }
}

TEST(CalibrateScores, HappensOnceAfterTheLastStep) {
  const Settings s;
  SmallRun run(s, calibrating(s));
  calibrate_scores(run.trainer, {run.world.data});
  EXPECT_TRUE(run.trainer.ledger().empty());
  run.train();
  calibrate_scores(run.trainer, {run.world.data});
  calibrate_scores(run.trainer, {run.world.data});
  EXPECT_EQ(std::get<Gaussian>(run.trainer.ledger().events()[1]).steps, 1u);
}

TEST(CalibrateScores, DoesNothingUnlessThePlanSaysSo) {
  const Settings s;
  SmallRun run(s, oracle::plan_of("lazydp", s));
  run.train();
  calibrate_scores(run.trainer, {run.world.data});
  EXPECT_FALSE(run.trainer.score_scaling());
  EXPECT_EQ(run.trainer.ledger().events().size(), 1u);
}

TEST(CalibrateScores, ScalesWhatIsPredicted) {
  const Settings s = with_little_noise();
  SmallRun run(s, calibrating(s));
  run.train();
  const std::vector<float> before = run.logits();
  calibrate_scores(run.trainer, {run.world.data});
  const ScoreScaling scaling = run.trainer.score_scaling().value();
  EXPECT_NE(scaling, ScoreScaling{});
  const std::vector<float> after = run.logits();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], scaling.of(before[i]));
}

// A run that is stopped after the ledger was written repeats the same draw.
TEST(CalibrateScores, RepeatsItselfUnderOneSeed) {
  const Settings s = with_little_noise();
  std::vector<ScoreScaling> found;
  for (int i = 0; i < 2; ++i) {
    SmallRun run(s, calibrating(s));
    run.train();
    calibrate_scores(run.trainer, {run.world.data});
    found.push_back(run.trainer.score_scaling().value());
  }
  EXPECT_EQ(found[0], found[1]);
}

// The counts of a world's forty examples, by weights.
ScoreCounts counts_of(SmallRun& run, const std::vector<double>& weights) {
  ScoreCounts counts;
  for (ExampleId i = 0; i < 40; ++i) {
    Batch batch;
    run.world.data.read(std::vector<ExampleId>{i}, batch);
    counts.add(run.trainer.predict(batch)[0], batch.labels[0], weights[i]);
  }
  return counts;
}

// Every cell has the noise that the ledger names, from the run's own key.
TEST(CalibrateScores, AddsTheNoiseThatIsPaidFor) {
  for (const double sigma : {1e-3, 0.02, 0.1}) {
    Settings s;
    s.sigma = sigma;
    SmallRun run(s, calibrating(s));
    run.train();
    ScoreCounts counts = counts_of(run, std::vector<double>(40, 1.0));
    calibrate_scores(run.trainer, {run.world.data});
    const double noise = noise_multiplier(run.trainer.ledger().events()[1]);
    RandomStream random(run.world.seed, Purpose::calibration, 0, s.steps);
    for (double& cell : counts.cells()) cell += noise * random.normal();
    EXPECT_EQ(run.trainer.score_scaling().value(), counts.best_scaling(noise)) << sigma;
  }
}

TEST(CalibrateScores, CountsAUnitOnce) {
  Settings s = with_little_noise();
  s.examples_per_unit = 3;
  SmallRun run(s, calibrating(s));
  run.train();
  std::vector<std::uint64_t> keys(40, 5);
  for (int i = 0; i < 10; ++i) keys[i] = 100 + i;
  const PrivacyUnits units(keys);
  std::vector<double> weights(40, 1.0 / 30);
  std::fill_n(weights.begin(), 10, 1.0);
  const ScoreCounts counts = counts_of(run, weights);
  calibrate_scores(run.trainer, {run.world.data, &units});
  const ScoreScaling expected = counts.best_scaling(calibration_noise(run.trainer.plan()));
  const ScoreScaling found = run.trainer.score_scaling().value();
  EXPECT_NEAR(found.scale, expected.scale, 0.02);
  EXPECT_NEAR(found.shift, expected.shift, 0.02);
  const auto by_examples = counts_of(run, std::vector<double>(40, 1.0)).best_scaling(0.0);
  EXPECT_GT(std::fabs(by_examples.shift - expected.shift), 0.1) << "the two can be told apart";
}

TEST(CalibrateScores, IsRefusedInBlocksOfSteps) {
  Plan plan = oracle::plan_of("lazydp", {.stream = 8});
  plan.calibrates_scores = true;
  EXPECT_THROW(plan.validate(), UserError);
}

}  // namespace
}  // namespace lazydp
