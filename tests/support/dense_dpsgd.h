#pragma once
// DP-SGD as a loop over dense vectors in double, for runs to be compared with.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "lazydp/random/noise_source.h"
#include "lazydp/train/schedule.h"
#include "tests/support/dlrm_in_double.h"
#include "tests/support/runs.h"
#include "tests/support/small_world.h"

namespace lazydp::oracle {

// Which of the plain model's weights keep their values.
inline std::vector<bool> kept_weights(const Settings& s, const PlainDlrm& model) {
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
inline std::vector<double> dense_dpsgd(const Settings& s) {
  World world(s.shape, s.key, s.sampling_rate);
  const auto start = world.weights();
  PlainDlrm model = {.bottom = s.shape.bottom,
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
      PlainExample e;
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
    const auto add_noise = [&](const NoiseCells& cells, double band, std::uint64_t row,
                               std::size_t at, std::size_t n) {
      std::vector<float> z(n, 0.0f);
      const NoisyRow noisy = {z.data(), row, 1.0f, 1.0f};
      cells.add({&noisy, 1}, n);
      for (std::size_t j = 0; j < n; ++j) sum[at + j] -= noise_std * band * z[j];
    };
    for (Step back = 0; back < s.bands.size() && back < t; ++back) {
      const double band = s.bands[back];
      add_noise(noise.dense(t - back), band, 0, 0, model.dense_count());
      for (std::size_t k = 0; k < s.shape.table_rows.size(); ++k) {
        const RowId rows = s.shape.table_rows[k];
        const auto cells =
            noise.table(static_cast<TableId>(k), rows, s.shape.dim, CellKind::each_step, t - back);
        for (RowId r = 0; r < rows; ++r) {
          add_noise(cells, band, static_cast<std::uint64_t>(r),
                    model.table_start(k) + static_cast<std::size_t>(r) * s.shape.dim, s.shape.dim);
        }
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

}  // namespace lazydp::oracle
