// The hyper-parameters of runs that name none.

#include "lazydp/train/defaults.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace lazydp {
namespace {

// A plan of so many records as `lazydp train --data` makes it without flags, with that noise.
Plan plan_of(std::uint64_t records, Record record, double noise_multiplier) {
  const Defaults defaults = defaults_for_file(records, record, kRecipes.back());
  const auto size = static_cast<double>(records);
  Plan plan;
  plan.dense_rule = defaults.dense_rule;
  plan.mechanism = {.sampling_rate = static_cast<double>(defaults.batch) / size,
                    .clip_norm = defaults.clip_norm,
                    .noise_multiplier = noise_multiplier,
                    .expected_batch = static_cast<double>(defaults.batch)};
  plan.steps = static_cast<Step>(
      std::max(1.0, std::round(defaults.epochs * size / static_cast<double>(defaults.batch))));
  plan.rate_schedule = {.shape = defaults.shape,
                        .warmup = static_cast<Step>(defaults.warmup * plan.steps)};
  const Rates rates = rates_for(defaults, plan);
  plan.table_rate = rates.tables;
  plan.dense_rate = rates.dense;
  return plan;
}

// The sum over every step, term by term.
double noise_step_by_step(const Plan& plan) {
  double variance = 0.0;
  for (Step t = 1; t <= plan.steps; ++t) {
    const double moved = plan.table_rate * plan.rate_schedule.factor(t, plan.steps) *
                         plan.mechanism.noise_multiplier * plan.mechanism.clip_norm /
                         plan.mechanism.expected_batch;
    variance += moved * moved;
  }
  return std::sqrt(variance);
}

// Where noise is correlated, each cell adds the sum of what the steps that use it make of it.
TEST(DefaultsForFiles, TheNoiseOfARunIsThatOfItsCells) {
  Plan plan = plan_of(250'000, Record::example, 1.0);
  plan.steps = 3000;
  plan.rate_schedule = Schedule::parse("warmup:300,linear");
  plan.clip_schedule = Schedule::parse("cosine");
  for (const std::vector<double>& bands : {std::vector{1.0, -0.9}, std::vector{1.0, -0.5, -0.2}}) {
    plan.correlation = Correlation(bands);
    std::vector<double> cells(plan.steps + 1, 0.0);
    for (Step t = 1; t <= plan.steps; ++t) {
      const double moved = plan.table_rate * plan.rate_schedule.factor(t, plan.steps) *
                           plan.clip_schedule.factor(t, plan.steps) *
                           plan.mechanism.noise_multiplier * plan.mechanism.clip_norm /
                           plan.mechanism.expected_batch;
      for (Step j = 0; j < bands.size() && j < t; ++j) cells[t - j] += moved * bands[j];
    }
    double variance = 0.0;
    for (const double weight : cells) variance += weight * weight;
    EXPECT_NEAR(noise_of_a_row(plan), std::sqrt(variance), 0.02 * std::sqrt(variance));
  }
}

// Adam gives every step's noise the length of its rate; correlated, little of it is left at the
// end.
TEST(DefaultsForFiles, AdamMayWalkAsFarWhereNoiseIsCorrelated) {
  for (const std::vector<double>& bands : {std::vector{1.0, -0.5}, std::vector{1.0, -0.3, -0.2}}) {
    Plan plan = plan_of(250'000, Record::example, 5.0);
    plan.correlation = Correlation(bands);
    for (const Step steps : {40u, 400u, 4000u}) {
      plan.steps = steps;
      const double rate =
          rates_for(defaults_for_file(250'000, Record::example, plan.recipe), plan).dense;
      double walked = 0.0, one = 0.0;
      for (const double band : bands) one += band * band;
      for (Step k = 1; k <= steps; ++k) {
        double weight = 0.0;
        for (Step j = 0; j < bands.size() && k + j <= steps; ++j) weight += bands[j];
        walked += weight * weight;
      }
      EXPECT_NEAR(rate, std::min(0.12, 0.14 * std::sqrt(one / walked)), 1e-9) << steps;
      EXPECT_GT(rate, 0.14 / std::sqrt(steps));
    }
  }
}

TEST(DefaultsForFiles, APassInOrderTakesAHundredStepsOrTwo) {
  const Recipe& lazydp = recipe("lazydp");
  for (std::uint64_t records = 128; records < 1'000'000'000; records = records * 3 + 1) {
    const Defaults defaults = defaults_for_file(records, Record::example, lazydp);
    EXPECT_GE(records / defaults.stream_batch, 128u) << records;
    EXPECT_LE(records / defaults.stream_batch, 256u) << records;
  }
  const Defaults few = defaults_for_file(5, Record::example, lazydp);
  EXPECT_EQ(few.stream_batch, 1u);
  const Defaults units = defaults_for_file(1000, Record::unit, lazydp);
  EXPECT_EQ(units.stream_batch, units.batch);
}

TEST(DefaultsForFiles, TheNoiseOfARunAddsUpToTheSameOnAnyDataAndBudget) {
  for (const Record record : {Record::example, Record::unit}) {
    for (const std::uint64_t records : {300, 900, 7'000, 33'000, 250'000, 2'000'000}) {
      for (const double noise : {0.6, 1.0, 4.0, 30.0}) {
        const Plan plan = plan_of(records, record, noise);
        const double sum = noise_step_by_step(plan);
        const bool largest = plan.table_rate >= 99.9 / plan.mechanism.clip_norm;
        EXPECT_LE(sum, kNoiseOfARow * 1.02) << records << " records, noise " << noise;
        if (!largest) {
          EXPECT_NEAR(sum, kNoiseOfARow, 0.02 * kNoiseOfARow) << records << ", noise " << noise;
        }
        EXPECT_NEAR(noise_of_a_row(plan), sum, 0.02 * sum);
      }
    }
  }
}

TEST(DefaultsForFiles, RatesNeverGrowWithTheNoiseAndAreBounded) {
  for (const std::uint64_t records : {900, 90'000, 100'000'000}) {
    double before = std::numeric_limits<double>::infinity();
    for (const double noise : {0.0, 1e-3, 0.3, 1.0, 3.0, 100.0}) {
      const Plan plan = plan_of(records, Record::example, noise);
      EXPECT_LE(plan.table_rate, before) << records << " records, noise " << noise;
      EXPECT_LE(plan.table_rate, 100.0 / plan.mechanism.clip_norm);
      EXPECT_GT(plan.table_rate, 0.0);
      EXPECT_LE(plan.dense_rate, 0.02);
      before = plan.table_rate;
    }
  }
}

TEST(DefaultsForFiles, BatchesArePowersOfTwoThatTheDataHas) {
  for (const Recipe& recipe : kRecipes) {
    for (const Record record : {Record::example, Record::unit}) {
      for (std::uint64_t records = 1; records < 10'000'000'000; records = records * 3 + 1) {
        const Defaults defaults = defaults_for_file(records, record, recipe);
        EXPECT_GE(defaults.batch, 1u);
        EXPECT_LE(defaults.batch, records);
        EXPECT_LE(defaults.batch, 16'384u);
        EXPECT_TRUE(std::has_single_bit(defaults.batch)) << records;
      }
    }
  }
}

// A step takes a large part of few persons: their noise is that of few, large steps.
TEST(DefaultsForFiles, FewUnitsAreSampledOften) {
  EXPECT_GE(plan_of(950, Record::unit, 1.0).mechanism.sampling_rate, 0.25);
  EXPECT_LE(plan_of(950, Record::unit, 1.0).steps, 100u);
  EXPECT_LE(plan_of(1'000'000, Record::unit, 1.0).mechanism.sampling_rate, 0.02);
}

}  // namespace
}  // namespace lazydp
