// The equalities between the seven algorithms, and of eager DP-SGD with a dense loop in double.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lazydp/base/parallel.h"
#include "tests/support/dlrm_in_double.h"
#include "tests/support/runs.h"

namespace lazydp {
namespace {

using oracle::distance;
using oracle::Settings;
using oracle::small_shape;
using oracle::train;
using oracle::World;

constexpr double kRounding = 3e-5;

// Which of the plain model's weights keep their values.
std::vector<bool> kept_weights(const Settings& s, const oracle::PlainDlrm& model) {
  std::vector<bool> kept(model.weights.size(), false);
  const auto is_frozen = [&s](const std::string& layer) {
    return std::ranges::find(s.frozen.layers, layer) != s.frozen.layers.end();
  };
  std::size_t at = 0;
  const auto layer = [&](const std::string& name, std::size_t in, std::size_t out) {
    const std::size_t end = at + out * (in + 1);
    for (; at < end; ++at) kept[at] = is_frozen(name);
  };
  for (std::size_t l = 1; l < model.bottom.size(); ++l) {
    layer("bottom." + std::to_string(2 * (l - 1)), model.bottom[l - 1], model.bottom[l]);
  }
  std::size_t in = model.interaction();
  for (std::size_t l = 0; l < model.top.size(); ++l) {
    layer("top." + std::to_string(2 * l), in, model.top[l]);
    in = model.top[l];
  }
  for (std::size_t k = 0; k < model.rows.size(); ++k) {
    const std::size_t end = at + static_cast<std::size_t>(model.rows[k]) * model.dim;
    for (; at < end; ++at) kept[at] = s.frozen.has_table(k);
  }
  return kept;
}

// DP-SGD as a paper would write it: dense vectors, gradients by differences, in double. Only the
// sample of each step and the noise cells are the library's.
std::vector<double> dense_dpsgd(const Settings& s) {
  World world(s.shape, s.key, s.sampling_rate);
  const auto start = world.weights();
  oracle::PlainDlrm model = {.bottom = s.shape.bottom,
                             .top = s.shape.top,
                             .dim = s.shape.dim,
                             .mean = s.shape.mode == Pooling::mean,
                             .rows = s.shape.table_rows,
                             .weights = {start.begin(), start.end()}};
  const std::vector<bool> kept = kept_weights(s, model);
  std::vector<double> momentum(model.weights.size(), 0.0), squares(model.dense_count(), 0.0);
  const NoiseSource noise(world.seed, s.draws);
  const auto rates = Schedule::parse(s.rates);
  const auto sigmas = Schedule::parse(s.noises);
  const auto clips = Schedule::parse(s.clips);
  const double expected_batch = s.sampling_rate * 40.0;
  for (Step t = 1; t <= s.steps; ++t) {
    const double clip = s.clip * clips.factor(t, s.steps);
    const double noise_std = s.sigma * sigmas.factor(t, s.steps) * clip;
    std::vector<double> sum(model.weights.size(), 0.0);
    Sample sample;
    world.sampler->draw(t, sample);
    Batch batch;
    read_sample(world.data, sample, batch);
    for (std::size_t i = 0; i < batch.size; ++i) {
      oracle::PlainExample e;
      e.dense.assign(batch.dense.row(i).begin(), batch.dense.row(i).end());
      e.label = batch.labels[i];
      for (const Bags& bags : batch.bags) e.bags.emplace_back(bags.of(i).begin(), bags.of(i).end());
      auto g = model.gradient(e);
      for (std::size_t j = 0; j < g.size(); ++j) g[j] = kept[j] ? 0.0 : g[j];
      double norm = 0.0;
      for (const double x : g) norm += x * x;
      for (std::size_t j = 0; j < g.size(); ++j)
        sum[j] += std::min(1.0, clip / std::sqrt(norm)) * g[j];
    }
    const auto add_noise = [&](const NoiseCells& cells, std::uint64_t row, std::size_t at,
                               std::size_t n) {
      std::vector<float> z(n, 0.0f);
      const NoisyRow noisy = {z.data(), row, 1.0f, 1.0f};
      cells.add({&noisy, 1}, n);
      for (std::size_t j = 0; j < n; ++j) sum[at + j] -= noise_std * z[j];
    };
    add_noise(noise.dense(t), 0, 0, model.dense_count());
    for (std::size_t k = 0; k < s.shape.table_rows.size(); ++k) {
      const RowId rows = s.shape.table_rows[k];
      const auto cells =
          noise.table(static_cast<TableId>(k), rows, s.shape.dim, CellKind::each_step, t);
      for (RowId r = 0; r < rows; ++r) {
        add_noise(cells, static_cast<std::uint64_t>(r),
                  model.table_start(k) + static_cast<std::size_t>(r) * s.shape.dim, s.shape.dim);
      }
    }
    const double rate = s.rate * rates.factor(t, s.steps);
    for (std::size_t j = 0; j < sum.size(); ++j) {
      if (kept[j]) continue;
      const double g = sum[j] / expected_batch;
      if (j >= model.dense_count() && s.table_rule == TableRule::momentum) {
        momentum[j] = 0.9 * momentum[j] + g + s.weight_decay * model.weights[j];
        model.weights[j] -= rate * momentum[j];
        continue;
      }
      if (j >= model.dense_count()) {
        model.weights[j] = (1.0 - rate * s.weight_decay) * model.weights[j] - rate * g;
        continue;
      }
      double move = g;
      if (s.dense_rule == DenseRule::momentum) {
        move = momentum[j] = 0.9 * momentum[j] + g;
      } else if (s.dense_rule == DenseRule::adam) {
        momentum[j] = 0.9 * momentum[j] + 0.1 * g;
        squares[j] = 0.999 * squares[j] + 0.001 * g * g;
        move = momentum[j] / (1.0 - std::pow(0.9, t)) /
               (std::sqrt(squares[j] / (1.0 - std::pow(0.999, t))) + 1e-8);
      } else if (s.dense_rule == DenseRule::adagrad) {
        squares[j] += g * g;
        move = g / (std::sqrt(squares[j]) + 1e-10);
      }
      model.weights[j] -= s.dense_rate * rates.factor(t, s.steps) * move;
    }
  }
  return model.weights;
}

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
