// The statistics and tables of the paper's experiments agree with independent numbers.

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <random>

#include "lazydp/base/error.h"
#include "lazydp/bench/paper/findings.h"
#include "lazydp/bench/paper/measurer.h"
#include "lazydp/bench/paper/settings.h"
#include "lazydp/bench/paper/tiny_run.h"

namespace lazydp::paper {
namespace {

std::vector<double> normals(std::size_t n, double std) {
  std::mt19937 rng(5);
  std::normal_distribution<double> normal(0.0, std);
  std::vector<double> values(n);
  for (double& value : values) value = normal(rng);
  return values;
}

// Critical values are in every table of the test: 1.3581 and 1.6276 over the root of n.
TEST(Kolmogorov, KnowsItsCriticalValues) {
  EXPECT_DOUBLE_EQ(against_normal({0.0}).distance, 0.5);
  EXPECT_NEAR(against_normal({-1.0, 1.0}).distance, 0.5 - 0.158655254, 1e-9);
  for (const auto& [scaled, level] : {std::pair{1.3581, 0.05}, std::pair{1.6276, 0.01}}) {
    // n quantiles of the normal, all moved up by d in probability: their distance is d + 1/2n.
    constexpr int kCount = 4000;
    const double d = scaled / std::sqrt(kCount) - 0.5 / kCount;
    std::vector<double> values;
    for (int i = 0; i < kCount; ++i) {
      const double p = std::min((i + 0.5) / kCount + d, 1.0 - 1e-12);
      double low = -40.0, high = 40.0;
      for (int step = 0; step < 80; ++step) {
        const double middle = 0.5 * (low + high);
        (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
      }
      values.push_back(low);
    }
    EXPECT_NEAR(against_normal(values).probability, level, 2e-4);
  }
}

TEST(Kolmogorov, PassesNormalsAndCatchesAStdThatIsOffByFivePercent) {
  EXPECT_GT(against_normal(normals(50'000, 1.0)).probability, 1e-3);
  EXPECT_LT(against_normal(normals(50'000, 1.05)).probability, 1e-6);
  EXPECT_LT(against_normal(normals(50'000, 0.95)).probability, 1e-6);
}

TEST(Findings, WriteCellsThatNeedItInQuotes) {
  Sheet sheet{.columns = {"a", "b"}};
  sheet.add({"1,5", "say \"so\""});
  EXPECT_EQ(csv_of(sheet), "a,b\n\"1,5\",\"say \"\"so\"\"\"\n");
  EXPECT_THROW(sheet.add({"one"}), InternalError);
}

Measured eager_with(double forward_s, double noise_s) {
  StepReport report;
  report.seconds[static_cast<std::size_t>(Stage::data)] = 7.0;
  report.seconds[static_cast<std::size_t>(Stage::forward)] = forward_s;
  report.seconds[static_cast<std::size_t>(Stage::norms)] = 0.25;
  report.seconds[static_cast<std::size_t>(Stage::weight_gradients)] = 0.125;
  report.seconds[static_cast<std::size_t>(Stage::noise_sampling)] = noise_s;
  Measured measured;
  measured.entry.recipe = recipe("dpsgd-f");
  measured.times.add(report);
  return measured;
}

TEST(StepParts, LeaveOutTheDataAndAddUp) {
  const StepParts parts = parts_of(eager_with(1.0, 2.0));
  EXPECT_DOUBLE_EQ(parts.forward, 1000.0);
  EXPECT_DOUBLE_EQ(parts.per_example, 250.0);
  EXPECT_DOUBLE_EQ(parts.per_batch, 125.0);
  EXPECT_DOUBLE_EQ(parts.update, 2000.0);
}

TEST(StepParts, ExtrapolateTheNoiseAndNothingElse) {
  const Measured measured = eager_with(1.0, 2.0);
  EXPECT_DOUBLE_EQ(eager_ms_at(measured, 1e9, 1e9), 3375.0);
  EXPECT_DOUBLE_EQ(eager_ms_at(measured, 1e9, 10e9), 21375.0);
}

Scale tiny_effort() {
  return {.name = "test",
          .table_bytes = 1e6,
          .far_bytes = {2e6, 3e6, 4e6, 5e6},
          .batches = {4, 8, 16},
          .rounds = 1,
          .warmup = 0,
          .audit_runs = 100,
          .leak_steps = 2,
          .vector_floats = 1000,
          .law_rows = 10};
}

TEST(Measurer, MeasuresTheSameQuestionOnce) {
  Progress progress(Progress::Style::none, std::cerr);
  Measurer measurer(tiny_effort(), 1, "tables", progress);
  Setting setting = measurer.standard({"sgd", "lazydp"});
  setting.model = "small";
  const Measurement& first = measurer.measure(setting);
  const Measurement& again = measurer.measure(setting);
  EXPECT_EQ(&first, &again);
  setting.batch = 16;
  const Measurement& other = measurer.measure(setting);
  EXPECT_NE(&first, &other);
  EXPECT_EQ(first.setting.batch, 8u) << "what was measured before stays where it was";
  EXPECT_NEAR(first.table_bytes(), 1e6, 1e3);
  EXPECT_GT(first.of("lazydp").spent.cpu_seconds, 0.0);
  EXPECT_THROW(first.of("eana"), InternalError);
}

TEST(Measurer, SaysHowMuchASettingLacks) {
  Progress progress(Progress::Style::none, std::cerr);
  const Measurer measurer(tiny_effort(), 1, "tables", progress);
  Setting setting = measurer.standard({"lazydp"});
  EXPECT_FALSE(measurer.lacks(setting).has_value());
  setting.table_bytes = 1e15;
  ASSERT_TRUE(measurer.lacks(setting).has_value());
  EXPECT_GT(*measurer.lacks(setting), 1e15 * (1 + 4.0 / 512));
}

TEST(Sizes, AreThePapersBelowTheRunsLargest) {
  Scale scale = tiny_effort();
  const auto sizes = [&](double largest) {
    scale.table_bytes = largest;
    return sizes_to_measure(scale);
  };
  EXPECT_EQ(sizes(1e9), (std::vector<double>{96.14e6, 1e9}));
  EXPECT_EQ(sizes(16e9), (std::vector<double>{96.14e6, 961.4e6, 9.614e9, 16e9}));
  EXPECT_EQ(sizes(4e6), (std::vector<double>{4e5, 4e6}));
}

}  // namespace
}  // namespace lazydp::paper
