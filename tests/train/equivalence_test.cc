// The equalities between the seven algorithms, and of eager DP-SGD with a dense loop in double.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lazydp/base/parallel.h"
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

std::vector<Settings> awkward_settings() {
  std::vector<Settings> all(14);
  all[1].rates = "warmup:4,cosine";
  all[2].weight_decay = 0.2;
  all[2].rates = "warmup:3,linear";
  all[3].shape = small_shape({1, 6, 50}, Pooling::mean);
  all[3].noises = "poly:2";
  all[4].clips = "step:5:0.5";
  all[4].evaluate = true;
  all[5].sampling_rate = 0.02;  // four batches in ten are empty
  all[5].steps = 20;
  all[6].evaluate = true;
  all[6].weight_decay = 0.1;
  all[6].rates = "step:4:0.3";
  all[7].shape = small_shape({100'000, 3});
  all[7].steps = 12;
  all[8].draws = 4;
  all[8].weight_decay = 0.1;
  all[9].table_rule = TableRule::momentum;
  all[9].rate = 0.1;
  all[10] = all[9];
  all[10].weight_decay = 0.2;
  all[10].rates = "warmup:3,linear";
  all[10].noises = "poly:2";
  all[10].evaluate = true;
  all[11].frozen = {.tables = {1}, .layers = {"bottom.2"}};
  all[11].weight_decay = 0.1;
  all[11].evaluate = true;
  all[12].frozen = {.tables = {0, 1}, .layers = {"bottom.0", "top.0", "top.2"}};
  all[12].rates = "warmup:3,linear";
  all[13] = all[9];
  all[13].frozen = {.tables = {0}, .layers = {"top.2"}};
  all[13].dense_rule = DenseRule::adam;
  all[13].dense_rate = 0.02;
  return all;
}

class Awkward : public ::testing::TestWithParam<std::size_t> {
 protected:
  Settings settings() const { return awkward_settings()[GetParam()]; }
};

TEST_P(Awkward, EagerDpSgdIsTheDenseLoop) {
  const Settings s = settings();
  EXPECT_LT(distance(train("dpsgd-f", s), dense_dpsgd(s)), 2e-4);
}

TEST_P(Awkward, LazyWithoutAggregationAndTheThreeEagerOnesAgreeParameterByParameter) {
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

TEST_P(Awkward, SettlingAheadAndOnReadGiveTheSameModelWhenNothingElseReads) {
  Settings s = settings();
  s.evaluate = false;
  const auto on_read = train("lazydp", s);
  s.ahead = true;
  EXPECT_EQ(train("lazydp", s), on_read);
}

TEST_P(Awkward, WithoutNoiseAllPrivateAlgorithmsAgree) {
  Settings s = settings();
  s.sigma = 0.0;
  const auto f = train("dpsgd-f", s);
  for (const char* name : {"dpsgd-b", "dpsgd-r", "eana", "lazydp-no-ans", "lazydp"}) {
    EXPECT_LT(distance(train(name, s), f), kRounding) << name;
  }
  EXPECT_GT(distance(train("sgd", s), f), 1e-3) << "the clip must bite, or this proves nothing";
}

TEST_P(Awkward, WithoutNoiseAndClippingAllSevenAreSgd) {
  Settings s = settings();
  s.sigma = 0.0;
  s.clip = std::numeric_limits<double>::infinity();
  const auto sgd = train("sgd", s);
  for (const Recipe& r : kRecipes) EXPECT_LT(distance(train(r.name, s), sgd), kRounding) << r.name;
}

TEST_P(Awkward, OneAndSeveralThreadsGiveTheSameBits) {
  const Settings s = settings();
  const int before = thread_count();
  for (const Recipe& r : kRecipes) {
    set_thread_count(1);
    const auto one = train(r.name, s);
    for (const int threads : {2, 3}) {
      set_thread_count(threads);
      EXPECT_EQ(train(r.name, s), one) << r.name << " on " << threads << " threads";
    }
  }
  set_thread_count(before);
}

INSTANTIATE_TEST_SUITE_P(Settings, Awkward, ::testing::Range<std::size_t>(0, 14));

// Noise reaches a dense gradient before the rule does, so lazy tables change nothing for it.
class DenseRules : public testing::TestWithParam<DenseRule> {};

TEST_P(DenseRules, PrivateTrainingIsTheDenseLoop) {
  Settings s;
  s.dense_rule = GetParam();
  s.dense_rate = 0.02;
  s.rates = "warmup:3,cosine";
  s.weight_decay = 0.1;
  const auto f = train("dpsgd-f", s);
  EXPECT_LT(distance(f, dense_dpsgd(s)), 2e-4);
  EXPECT_LT(distance(train("lazydp-no-ans", s), f), kRounding);
  Settings plain = s;
  plain.dense_rule = DenseRule::sgd;
  if (s.dense_rule != DenseRule::sgd) {
    EXPECT_GT(distance(train("dpsgd-f", plain), f), 1e-3) << "the rule must matter";
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, DenseRules,
                         testing::Values(DenseRule::sgd, DenseRule::momentum, DenseRule::adam,
                                         DenseRule::adagrad));

// With the real loss the weights are no Gaussians; a two-sample test compares the two laws. For
// every parameter the mean and the spread over keys are compared; 5.5 sigma over 600 z scores: a
// false alarm has probability 2e-5.
TEST(LazyDp, HasTheLawOfEagerDpSgdUnderTheRealLoss) {
  Settings s;
  s.shape = small_shape({4, 12});
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
  // All parameters together see a deviation that is off by 5 % (log ratio 0.1) from far.
  EXPECT_LT(std::abs(pooled_ratio), 0.04);
}

}  // namespace
}  // namespace lazydp
