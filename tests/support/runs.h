#pragma once
// Whole training runs on the small world, with a few settings.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "lazydp/data/stream.h"
#include "lazydp/train/trainer.h"
#include "tests/support/small_world.h"

namespace lazydp::oracle {

struct Settings {
  ModelShape shape = small_shape({1, 6, 50});
  double sigma = 1.0;
  double clip = 0.3;
  Step steps = 15;
  double rate = 0.4;  // learning rate of tables
  double dense_rate = 0.2;
  DenseRule dense_rule = DenseRule::sgd;
  TableRule table_rule = TableRule::sgd;
  double sampling_rate = 0.08;  // of 40 examples: one batch in 28 is empty
  double weight_decay = 0.0;
  const char* rates = "constant";
  const char* noises = "constant";
  const char* clips = "constant";
  std::vector<double> bands = {1.0};  // of correlated noise
  unsigned draws = 1;                 // normals that add up to one
  bool ahead = false;
  bool evaluate = false;  // every third step reads some rows that are trained later
  bool settle = true;
  std::uint64_t key = 3;
  std::uint64_t examples_per_unit = 0;  // 0: every example is a unit
  std::uint64_t stream = 0;  // examples that a step takes in their order; 0: Poisson samples
  FrozenParts frozen = {};
};

// The samples of a run that goes on with this seed.
inline std::unique_ptr<Sampler> sampler_of(const Settings& s, const Seed& seed) {
  if (s.stream > 0) return make_stream_sampler(Windows(40, s.stream));
  return make_poisson_sampler(seed, 40, s.sampling_rate);
}

inline Plan plan_of(std::string_view algorithm, const Settings& s) {
  Plan plan;
  plan.recipe = recipe(algorithm);
  plan.mechanism = {.sampling_rate = s.sampling_rate,
                    .clip_norm = s.clip,
                    .noise_multiplier = s.sigma,
                    .expected_batch = s.sampling_rate * 40.0};
  plan.steps = s.steps;
  plan.examples_per_unit = std::max<std::uint64_t>(1, s.examples_per_unit);
  plan.table_rate = s.rate;
  plan.dense_rate = s.dense_rate;
  plan.dense_rule = s.dense_rule;
  plan.table_rule = s.table_rule;
  plan.weight_decay = s.weight_decay;
  plan.frozen = s.frozen;
  plan.rate_schedule = Schedule::parse(s.rates);
  plan.noise_schedule = Schedule::parse(s.noises);
  plan.clip_schedule = Schedule::parse(s.clips);
  plan.correlation = Correlation(s.bands);
  if (s.stream > 0) plan.blocks = BlockRules{.separation = (40 + s.stream - 1) / s.stream};
  plan.normals_per_sample = s.draws;
  return plan;
}

// All weights at the end of a run.
inline std::vector<float> train(std::string_view algorithm, const Settings& s) {
  World world(s.shape, s.key, s.sampling_rate, 40, s.examples_per_unit);
  Trainer trainer(plan_of(algorithm, s), {.settle_ahead = s.ahead}, world.seed, world.model,
                  s.shape.mode, world.tables, world.data, *world.sampler);
  for (Step t = 1; t <= s.steps; ++t) {
    trainer.step();
    if (s.evaluate && t % 3 == 0) {
      const std::vector<ExampleId> some = {t % 40, (t + 11) % 40};
      Batch batch;
      world.data.read(some, batch);
      trainer.predict(batch);
    }
  }
  if (s.settle) trainer.settle_all();
  return world.weights();
}

}  // namespace lazydp::oracle
