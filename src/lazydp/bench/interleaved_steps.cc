#include "lazydp/bench/interleaved_steps.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "lazydp/base/stages.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/bench/energy.h"
#include "lazydp/bench/steady_state.h"
#include "lazydp/train/correlation_text.h"
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
  plan.normals_per_sample = normals_per_sample;
  return plan;
}

MemoryNeeds memory_needs(const BenchOptions& bench) {
  const MemoryNeeds needs =
      memory_needs(bench.model.shape, bench.contenders, {}, bench.performance, bench.batch,
                   bench.rounds + kAgingSteps, bench.task.bytes());
  return bench.table_folder ? with_tables_in_files(needs, bench.model.shape) : needs;
}

// Draws batches from the contender's own seed: rows that another contender has just read would be
// in the cache.
Contender make_contender(const BenchOptions& options, const TrainingData& task, const Entry& entry,
                         const Seed& seed, std::uint64_t number, ModelAndTables& model_and_tables) {
  const SteadyState steady(model_and_tables.tables, std::get<AccessLaw>(options.task.what),
                           static_cast<double>(options.batch * options.model.shape.pooling));
  Plan plan = options.plan(entry.recipe);
  plan.steps += steady.passed();
  plan.examples_per_unit = entry.examples_per_unit;
  plan.correlation = entry.correlation;
  Contender contender;
  contender.examples =
      make_sampler(Sampling::shuffled, Seed::fixed(options.seed.value_or(0) + number),
                   task.train->size(), plan.mechanism.sampling_rate, options.batch);
  contender.sampler = make_neighbours_units(*contender.examples, entry.examples_per_unit);
  contender.trainer = std::make_unique<Trainer>(
      plan, options.performance, seed, *model_and_tables.model, options.model.shape.mode,
      model_and_tables.tables, *task.train, *contender.sampler, model_and_tables.storage());
  contender.lateness = steady.make_rows_late(*contender.trainer);
  return contender;
}

namespace {

// Measures what this process has used of the machine since the meter was made.
class Meter {
 public:
  Spent since() const {
    return {.wall_seconds = watch_.seconds(),
            .cpu_seconds = cpu_seconds() - cpu_seconds_,
            .joules = energy_counters().joules_since(energy_)};
  }

 private:
  double cpu_seconds_ = cpu_seconds();
  EnergyCounters energy_ = energy_counters();
  Stopwatch watch_;
};

// Returns the order of round r: rotated by one each time, and reversed after every full turn, so
// that no contender always follows the same neighbour.
std::vector<std::size_t> order_of(Step round, std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(round % count),
              order.end());
  if (round / count % 2 == 1) std::ranges::reverse(order);
  return order;
}

}  // namespace

std::string Entry::name() const {
  return std::string(recipe.name) +
         (examples_per_unit > 1 ? ", units of " + std::to_string(examples_per_unit) : "") +
         (correlation.independent() ? "" : ", " + text_of(correlation));
}

std::vector<Entry> entries_of(const BenchOptions& options) {
  std::vector<Entry> entries;
  for (const Recipe& recipe : options.contenders) {
    entries.push_back({.recipe = recipe});
    if (options.examples_per_unit > 0) {
      entries.push_back({.recipe = recipe, .examples_per_unit = options.examples_per_unit});
    }
    if (!options.correlation.independent() && traits_of(recipe.noise).adds_all_noise()) {
      entries.push_back({.recipe = recipe, .correlation = options.correlation});
    }
  }
  return entries;
}

std::vector<Measured> interleave(const BenchOptions& options, const TrainingData& task,
                                 Progress& progress) {
  progress.say("preparing " + human_bytes(static_cast<double>(options.model.shape.table_bytes())) +
               " of tables, and histories as late as in a long run ...");
  const Seed seed = Seed::make(options.seed);
  const ModelShape& shape = options.model.shape;
  ModelAndTables model_and_tables =
      options.table_folder ? ModelAndTables(shape, TableFolder{*options.table_folder, {}})
                           : ModelAndTables(shape);
  model_and_tables.initialise(seed);
  std::vector<Contender> contenders;
  std::vector<Measured> measured;
  const std::vector<Entry> entries = entries_of(options);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    contenders.push_back(make_contender(options, task, entries[i], seed, i, model_and_tables));
    measured.push_back({.entry = entries[i],
                        .times = {},
                        .spent = {},
                        .history_bytes = contenders[i].trainer->state().table_optimizer.bytes(),
                        .lateness = contenders[i].lateness});
  }
  const Step rounds = options.warmup + options.rounds;
  progress.begin("bench", rounds);
  for (Step round = 1; round <= rounds; ++round) {
    StepReport of_round;
    of_round.step = round;
    of_round.mean_loss = std::numeric_limits<double>::quiet_NaN();  // is not shown
    for (const std::size_t i : order_of(round, contenders.size())) {
      const Meter meter;
      const StepReport& report = contenders[i].trainer->step();
      of_round.examples += report.examples;
      if (round <= options.warmup) continue;
      measured[i].spent += meter.since();
      measured[i].times.add(report);
    }
    progress.step(of_round, [] { return std::nullopt; });
  }
  progress.end();
  return measured;
}

}  // namespace lazydp
