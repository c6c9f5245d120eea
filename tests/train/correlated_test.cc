// Runs whose noise is correlated over steps: eager and late noise of the same cells, and the law of
// noise that is drawn at once.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/parallel.h"
#include "lazydp/privacy/correlated_noise.h"
#include "lazydp/train/correlation_text.h"
#include "tests/support/dense_dpsgd.h"
#include "tests/support/runs.h"

namespace lazydp {
namespace {

using oracle::dense_dpsgd;
using oracle::distance;
using oracle::Settings;
using oracle::small_shape;
using oracle::train;

constexpr double kRounding = 3e-5;

std::vector<Settings> settings() {
  std::vector<Settings> all(7);
  all[0].bands = {1.0, -0.9};
  all[1].bands = bisr_bands(4);
  all[1].rates = "warmup:4,cosine";
  all[1].clips = "step:5:0.5";
  all[2].bands = bisr_bands(16);
  all[2].weight_decay = 0.2;
  all[2].evaluate = true;
  all[2].steps = 25;
  all[3].bands = {1.0, -0.7};
  all[3].weight_decay = 0.1;
  all[3].rates = "step:4:0.3";
  all[3].clips = "linear";
  all[3].evaluate = true;
  all[4].bands = {1.0, -0.9};
  all[4].sampling_rate = 0.02;  // four batches in ten are empty
  all[4].dense_rule = DenseRule::adam;
  all[4].dense_rate = 0.02;
  all[5].bands = bisr_bands(4);
  all[5].draws = 4;
  all[6].bands = {1.0, -0.9};
  all[6].shape = small_shape({1, 6, 50}, Pooling::mean);
  return all;
}

class CorrelatedRun : public testing::TestWithParam<std::size_t> {
 protected:
  Settings settings() const { return lazydp::settings()[GetParam()]; }
};

TEST_P(CorrelatedRun, EagerNoiseIsTheDenseLoops) {
  const Settings s = settings();
  EXPECT_LT(distance(train("dpsgd-f", s), dense_dpsgd(s)), 2e-4);
  Settings alone = s;
  alone.bands = {1.0};
  EXPECT_GT(distance(train("dpsgd-f", alone), train("dpsgd-f", s)), 1e-3) << "it must matter";
}

TEST_P(CorrelatedRun, LateNoiseDrawnCellByCellIsEagerNoise) {
  Settings s = settings();
  const auto f = train("dpsgd-f", s);
  EXPECT_LT(distance(train("dpsgd-b", s), f), kRounding);
  EXPECT_LT(distance(train("dpsgd-r", s), f), kRounding);
  EXPECT_LT(distance(train("lazydp-no-ans", s), f), kRounding);
  s.ahead = true;
  EXPECT_LT(distance(train("lazydp-no-ans", s), f), kRounding);
  s.settle = false;
  EXPECT_GT(distance(train("lazydp-no-ans", s), f), 1e-3) << "the final settle matters";
}

TEST_P(CorrelatedRun, SettlingAheadAndOnReadGiveTheSameModelWhenNothingElseReads) {
  Settings s = settings();
  s.evaluate = false;
  const auto on_read = train("lazydp", s);
  s.ahead = true;
  EXPECT_EQ(train("lazydp", s), on_read);
}

TEST_P(CorrelatedRun, OneAndSeveralThreadsGiveTheSameBits) {
  const Settings s = settings();
  const int before = thread_count();
  for (const char* name : {"dpsgd-f", "lazydp-no-ans", "lazydp"}) {
    set_thread_count(1);
    const auto one = train(name, s);
    set_thread_count(2);
    EXPECT_EQ(train(name, s), one) << name;
  }
  set_thread_count(before);
}

INSTANTIATE_TEST_SUITE_P(Settings, CorrelatedRun, testing::Range<std::size_t>(0, 7));

// With the real loss: a two-sample test of means and spreads over keys, as for independent noise.
TEST(CorrelatedRuns, NoiseDrawnAtOnceHasTheLawOfEagerNoiseUnderTheRealLoss) {
  Settings s;
  s.shape = small_shape({4, 12});
  s.bands = {1.0, -0.8};
  s.rates = "warmup:3,linear";
  s.steps = 10;
  s.evaluate = true;
  constexpr int kKeys = 600;
  std::vector<double> sums[2];
  std::vector<double> squares[2];
  for (int side = 0; side < 2; ++side) {
    for (int key = 0; key < kKeys; ++key) {
      s.key = 2 * static_cast<std::uint64_t>(key) + static_cast<std::uint64_t>(side);
      const auto w = train(side == 0 ? "dpsgd-f" : "lazydp", s);
      sums[side].resize(w.size());
      squares[side].resize(w.size());
      for (std::size_t i = 0; i < w.size(); ++i) {
        sums[side][i] += w[i];
        squares[side][i] += double(w[i]) * w[i];
      }
    }
  }
  double pooled_ratio = 0.0;
  for (std::size_t i = 0; i < sums[0].size(); ++i) {
    double mean[2];
    double variance[2];
    for (int side = 0; side < 2; ++side) {
      mean[side] = sums[side][i] / kKeys;
      variance[side] = squares[side][i] / kKeys - mean[side] * mean[side];
    }
    const double both = variance[0] + variance[1];
    EXPECT_LT(std::abs(mean[0] - mean[1]) / std::sqrt(both / kKeys), 5.5) << "parameter " << i;
    const double log_ratio = std::log(variance[1] / variance[0]);
    EXPECT_LT(std::abs(log_ratio) / std::sqrt(4.0 / kKeys), 5.5) << "parameter " << i;
    pooled_ratio += log_ratio / static_cast<double>(sums[0].size());
  }
  EXPECT_LT(std::abs(pooled_ratio), 0.04);
}

std::string refusal(const Plan& plan) {
  try {
    plan.validate();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(CorrelatedPlan, IsRefusedWhereTheNoiseIsNotKnownToBeRight) {
  Settings s;
  s.bands = {1.0, -0.9};
  for (const char* name : {"dpsgd-b", "dpsgd-r", "dpsgd-f", "lazydp-no-ans", "lazydp"}) {
    EXPECT_EQ(refusal(plan_of(name, s)), "") << name;
  }
  EXPECT_NE(refusal(plan_of("sgd", s)).find("adds no noise"), std::string::npos);
  EXPECT_NE(refusal(plan_of("eana", s)).find("rows that are not in use"), std::string::npos);
  s.table_rule = TableRule::momentum;
  EXPECT_NE(refusal(plan_of("lazydp", s)).find("table-optimizer"), std::string::npos);
  s.table_rule = TableRule::sgd;
  s.noises = "linear";
  EXPECT_NE(refusal(plan_of("lazydp", s)).find("noise-schedule"), std::string::npos);
}

TEST(CorrelatedPlan, RecordsItsStepsAsOneBlock) {
  Settings s;
  s.bands = {1.0, -0.9};
  s.steps = 30;
  Plan plan = plan_of("lazydp", s);
  plan.blocks = BlockRules{.separation = 12};
  Ledger step_by_step;
  for (Step t = 1; t <= 20; ++t) step_by_step.record(event_of(plan, t));
  ASSERT_EQ(step_by_step.events().size(), 1u);
  const auto& block = std::get<CorrelatedGaussian>(step_by_step.events()[0]);
  EXPECT_EQ(block.steps, 20u);
  EXPECT_EQ(block.allowed, (Participation{.steps = 30, .separation = 12, .times = 3}));
  EXPECT_EQ(block.bands, s.bands);
  const Ledger at_once = ledger_through(plan, {}, 20);
  EXPECT_EQ(std::get<CorrelatedGaussian>(at_once.events()[0]), block);
  EXPECT_EQ(step_before_block(at_once), 0u);

  const Ledger more = ledger_through(plan, Progressed::in_new_block(20, at_once), 30);
  ASSERT_EQ(more.events().size(), 2u);
  EXPECT_EQ(step_before_block(more), 20u);
  EXPECT_EQ(std::get<CorrelatedGaussian>(more.events()[1]).allowed,
            (Participation{.steps = 10, .separation = 12, .times = 1}));
}

TEST(CorrelationText, ReadsBackWhatItWrites) {
  const Participation planned{.steps = 200, .separation = 200, .times = 1};
  for (const char* text :
       {"independent", "lambda:0.9", "lambda:0.123456789", "bisr:2", "bisr:64"}) {
    const Correlation correlation = parse_correlation(text, planned);
    EXPECT_EQ(text_of(correlation), text);
  }
  EXPECT_EQ(text_of(parse_correlation("bisr:1", planned)), "independent");
  const Correlation best = parse_correlation("lambda", planned);
  EXPECT_EQ(parse_correlation(text_of(best), planned), best);
  for (const char* text : {"", "lambda:", "lambda:1", "lambda:-0.1", "lambda:0.9x", "bisr",
                           "bisr:0", "bisr:65", "Lambda", "bands"}) {
    EXPECT_THROW(parse_correlation(text, planned), UserError) << text;
  }
}

}  // namespace
}  // namespace lazydp
