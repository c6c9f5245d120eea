#include "lazydp/bench/bench_options.h"

#include <algorithm>

#include "lazydp/base/memory.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/cli/run/defaults.h"
#include "lazydp/cli/run/run_options.h"

namespace lazydp {
namespace {

constexpr double kTinyRate = 1e-6;
constexpr Step kMaxRounds = 100'000;
constexpr Step kAgingSteps = 1'000'000;  // may have passed before the first round

// Those whose step is one backward pass, and that can have their tables where they are, unless
// somebody names others.
std::vector<Recipe> choose_contenders(const Given& given, bool in_files) {
  std::vector<Recipe> contenders;
  if (!given.algorithms) {
    std::ranges::copy_if(kRecipes, std::back_inserter(contenders), [&](const Recipe& recipe) {
      return (recipe.clip == ClipMethod::none || recipe.clip == ClipMethod::ghost) &&
             !(in_files && recipe.writes_every_row());
    });
    return contenders;
  }
  for (const std::string& name : parts_of(*given.algorithms, ",")) {
    if (std::ranges::find(contenders, name, &Recipe::name) != contenders.end()) {
      refuse("algorithms", *given.algorithms, "a list in which no name occurs twice");
    }
    contenders.push_back(recipe(name));
  }
  return contenders;
}

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
      memory_needs(bench.model.shape, bench.contenders, 0.0, bench.performance, bench.batch,
                   bench.rounds + kAgingSteps, bench.task.bytes());
  return bench.table_folder ? with_tables_in_files(needs, bench.model.shape) : needs;
}

BenchOptions choose_bench(const Given& given) {
  BenchOptions bench;
  bench.table_folder = choose_table_folder(given);
  bench.contenders = choose_contenders(given, bench.table_folder.has_value());
  for (const Recipe& each : bench.contenders) require_trainable_there(each, bench.table_folder);
  bench.noise_draws = choose_noise_draws(given);
  bench.model = choose_model(given);
  Given timed = given;
  if (!timed.synthetic) timed.synthetic = "uniform";
  bench.task = choose_task(timed, bench.model);
  if (bench.task.learnable()) {
    refuse("synthetic", bench.task.name, "uniform, zipf:S or skew:36|10|0.6 where steps are timed");
  }
  bench.performance = choose_performance(given);
  bench.batch = given.batch ? whole_number("batch", *given.batch, 1, bench.task.examples())
                            : defaults_for(AccessLaw{}, kRecipes.back()).batch;
  bench.rounds =
      static_cast<Step>(whole_number("rounds", given.rounds.value_or("31"), 1, kMaxRounds));
  bench.seed = choose_seed(given);
  require_memory(memory_needs(bench), available_memory());
  return bench;
}

}  // namespace lazydp
