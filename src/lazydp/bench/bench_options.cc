#include "lazydp/bench/bench_options.h"

#include "lazydp/train/defaults.h"

namespace lazydp {
namespace {

constexpr double kTinyRate = 1e-6;
constexpr Step kAgingSteps = 1'000'000;  // most steps that may have passed before the first round

}  // namespace

Plan BenchOptions::plan(const Recipe& recipe) const {
  const Defaults paper = defaults_for(AccessLaw{}, recipe);
  const auto expected = static_cast<double>(batch);
  Plan plan;
  plan.recipe = recipe;
  plan.mechanism = {.sampling_rate = expected / static_cast<double>(task.examples()),
                    .clip_norm = paper.clip_norm,
                    .noise_multiplier = paper.noise_multiplier,
                    .expected_batch = expected};
  plan.steps = rounds + warmup;
  plan.table_rate = kTinyRate;
  plan.dense_rate = kTinyRate;
  plan.noise_draws = noise_draws;
  return plan;
}

MemoryNeeds memory_needs(const BenchOptions& bench) {
  const MemoryNeeds needs =
      memory_needs(bench.model.shape, bench.contenders, {}, bench.performance, bench.batch,
                   bench.rounds + kAgingSteps, bench.task.bytes());
  return bench.table_folder ? with_tables_in_files(needs, bench.model.shape) : needs;
}

}  // namespace lazydp
