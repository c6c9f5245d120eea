// From flags to values: defaults, and the change that each flag makes.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/bench/interleaved_steps.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/verbs/verbs.h"

namespace lazydp::cli {
namespace {

FlagTexts given(const std::vector<std::pair<Text FlagTexts::*, std::string>>& said) {
  FlagTexts all;
  for (const auto& [flag, text] : said) all.*flag = text;
  return all;
}

TEST(RunOptions, ByDefaultTrainLazyDpOnTheClickTask) {
  const RunOptions run = choose_run({});
  EXPECT_EQ(run.plan.recipe.name, "lazydp");
  EXPECT_EQ(run.model.shape.name, "small");
  EXPECT_EQ(run.task.name, "click");
  EXPECT_EQ(run.sampling, Sampling::poisson);
  EXPECT_DOUBLE_EQ(run.plan.mechanism.sampling_rate * 200'000, run.plan.mechanism.expected_batch);
  EXPECT_EQ(run.delta, 1e-6);
  EXPECT_FALSE(run.seed.has_value());
  EXPECT_EQ(run.plan.weight_decay, 0.0);
  EXPECT_GT(run.plan.rate_schedule.warmup, 0u);
}

TEST(RunOptions, AnotherWidthOfRowsIsThatOfTheBottomMlpsOutput) {
  const RunOptions usual = choose_run({});
  const RunOptions narrow = choose_run(given({{&FlagTexts::dim, "8"}}));
  EXPECT_EQ(narrow.model.shape.dim, 8u);
  std::vector<std::size_t> bottom = usual.model.shape.bottom;
  ASSERT_NE(bottom.back(), 8u);
  bottom.back() = 8;
  EXPECT_EQ(narrow.model.shape.bottom, bottom) << "and no other layer has changed";
  // A bottom MLP that is given must end there by itself.
  EXPECT_THROW(choose_run(given({{&FlagTexts::dim, "8"}, {&FlagTexts::bottom, "13-16"}})),
               UserError);
}

TEST(RunOptions, WhatDoesNotClipHasOtherDefaults) {
  const RunOptions sgd = choose_run(given({{&FlagTexts::algorithm, "sgd"}}));
  EXPECT_EQ(sgd.batch, 256u);
  EXPECT_EQ(sgd.sampling, Sampling::shuffled) << "there is no claim to hold up";
  const RunOptions rare =
      choose_run(given({{&FlagTexts::algorithm, "sgd"}, {&FlagTexts::sampling_rate, "1e-6"}}));
  EXPECT_EQ(rare.batch, 1u);
  EXPECT_EQ(rare.plan.mechanism.expected_batch, 1.0) << "batches of fixed size are as large";
  EXPECT_EQ(sgd.plan.steps, 3125u);
  EXPECT_EQ(sgd.plan.mechanism.noise_multiplier, 0.0);
  EXPECT_EQ(sgd.plan.mechanism.clip_norm, std::numeric_limits<double>::infinity());
}

TEST(RunOptions, OtherModelsAreTimedOnUniformLookUps) {
  const RunOptions run =
      choose_run(given({{&FlagTexts::model, "kaggle"}, {&FlagTexts::scale, "0.0001"}}));
  EXPECT_EQ(run.task.name, "uniform");
  EXPECT_EQ(run.batch, 2048u);
  EXPECT_EQ(run.plan.mechanism.clip_norm, 0.4);
  EXPECT_EQ(run.plan.mechanism.noise_multiplier, 1.0);
  EXPECT_EQ(run.plan.table_rate, 0.01);
  EXPECT_LT(run.delta, 1.0 / static_cast<double>(run.task.examples()));
}

TEST(RunOptions, ASmallModelThatNoLongerFitsTheClickTaskIsTimed) {
  EXPECT_EQ(choose_run(given({{&FlagTexts::rows, "3x100"}})).task.name, "uniform");
  EXPECT_EQ(choose_run(given({{&FlagTexts::top, "32-1"}})).task.name, "click");
}

TEST(RunOptions, DeltaStaysBelowOneInTheExamples) {
  const RunOptions run =
      choose_run(given({{&FlagTexts::scale, "10"}, {&FlagTexts::synthetic, "click:large"}}));
  EXPECT_LT(run.delta, 1e-6);
  EXPECT_THROW(choose_run(given({{&FlagTexts::delta, "0.001"}})), UserError);
  EXPECT_EQ(choose_run(given({{&FlagTexts::delta, "0.001"}, {&FlagTexts::force, "true"}})).delta,
            0.001);
}

TEST(RunOptions, SamplingRateAndBatchSayTheSame) {
  const RunOptions by_rate = choose_run(given({{&FlagTexts::sampling_rate, "0.01"}}));
  const RunOptions by_batch = choose_run(given({{&FlagTexts::batch, "2000"}}));
  EXPECT_EQ(by_rate.batch, 2000u);
  EXPECT_DOUBLE_EQ(by_rate.plan.mechanism.sampling_rate, by_batch.plan.mechanism.sampling_rate);
  EXPECT_DOUBLE_EQ(by_rate.plan.mechanism.expected_batch, by_batch.plan.mechanism.expected_batch);
}

TEST(RunOptions, EpochsAreStepsOverTheData) {
  EXPECT_EQ(choose_run(given({{&FlagTexts::epochs, "2"}, {&FlagTexts::batch, "1000"}})).plan.steps,
            400u);
  EXPECT_EQ(
      choose_run(given({{&FlagTexts::epochs, "0.001"}, {&FlagTexts::batch, "1000"}})).plan.steps,
      1u);
}

TEST(RunOptions, EveryTrainingFlagArrives) {
  const RunOptions run = choose_run(given({{&FlagTexts::lr, "3"},
                                           {&FlagTexts::dense_lr, "0.25"},
                                           {&FlagTexts::lr_schedule, "warmup:7,cosine"},
                                           {&FlagTexts::noise_schedule, "linear"},
                                           {&FlagTexts::clip_schedule, "poly:2"},
                                           {&FlagTexts::weight_decay, "0.125"},
                                           {&FlagTexts::clip_norm, "2.5"},
                                           {&FlagTexts::noise_multiplier, "0.75"},
                                           {&FlagTexts::sampling, "shuffled"},
                                           {&FlagTexts::accountant, "pld"},
                                           {&FlagTexts::seed, "18446744073709551615"},
                                           {&FlagTexts::settle, "ahead"},
                                           {&FlagTexts::eval_every, "9"}}));
  EXPECT_EQ(run.plan.table_rate, 3.0);
  EXPECT_EQ(run.plan.dense_rate, 0.25);
  EXPECT_EQ(run.plan.rate_schedule.warmup, 7u);
  EXPECT_EQ(run.plan.rate_schedule.shape, Schedule::Shape::cosine);
  EXPECT_EQ(run.plan.noise_schedule.shape, Schedule::Shape::polynomial);
  EXPECT_EQ(run.plan.clip_schedule.power, 2.0);
  EXPECT_EQ(run.plan.weight_decay, 0.125);
  EXPECT_EQ(run.plan.mechanism.clip_norm, 2.5);
  EXPECT_EQ(run.plan.mechanism.noise_multiplier, 0.75);
  EXPECT_EQ(run.sampling, Sampling::shuffled);
  EXPECT_EQ(run.plan.accountant, Accountant::pld);
  EXPECT_EQ(run.seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(run.performance.settle_ahead);
  EXPECT_EQ(run.eval_every, 9u);
}

TEST(RunOptions, WithoutNoiseTheClipNormMayBeInfinite) {
  const RunOptions run =
      choose_run(given({{&FlagTexts::clip_norm, "inf"}, {&FlagTexts::noise_multiplier, "0"}}));
  EXPECT_TRUE(std::isinf(run.plan.mechanism.clip_norm));
}

TEST(RunOptions, ThreadsAreThoseOfTheProcess) {
  const int before = thread_count();
  choose_threads(given({{&FlagTexts::threads, "3"}}));
  EXPECT_EQ(thread_count(), 3);
  set_thread_count(before);
}

TEST(ModelOptions, RowsAreAListWithRepeats) {
  const ModelChoice model =
      choose_model(given({{&FlagTexts::rows, "2x30,7"}, {&FlagTexts::pooling_mode, "mean"}}));
  EXPECT_EQ(model.shape.table_rows, (std::vector<RowId>{30, 30, 7}));
  EXPECT_EQ(model.shape.mode, Pooling::mean);
  EXPECT_EQ(model.shape.name, "custom");
}

TEST(ModelOptions, EachSizeReplacesTheNamedModels) {
  const ModelChoice model = choose_model(given({{&FlagTexts::model, "rmc1"},
                                                {&FlagTexts::scale, "0.0001"},
                                                {&FlagTexts::dim, "8"},
                                                {&FlagTexts::bottom, "5-8"},
                                                {&FlagTexts::pooling, "4"}}));
  EXPECT_EQ(model.shape.table_rows, std::vector<RowId>(10, 7500));
  EXPECT_EQ(model.shape.dim, 8u);
  EXPECT_EQ(model.shape.bottom, (std::vector<std::size_t>{5, 8}));
  EXPECT_EQ(model.shape.top, (std::vector<std::size_t>{256, 64, 1}));
  EXPECT_EQ(model.shape.pooling, 4u);
}

TEST(BenchOptions, ByDefaultContendersTakeOneBackwardPass) {
  const BenchOptions bench = choose_bench({});
  EXPECT_EQ(bench.contenders.size(), 5u);
  EXPECT_EQ(bench.rounds, 31u);
  EXPECT_EQ(bench.batch, 2048u);
  EXPECT_EQ(bench.task.name, "uniform");
  for (const Recipe& recipe : bench.contenders) EXPECT_NO_THROW(bench.plan(recipe).validate());
}

}  // namespace
}  // namespace lazydp::cli
