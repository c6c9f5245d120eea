#include "lazydp/bench/paper/tiny_run.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lazydp/embedding/first_weights.h"
#include "lazydp/embedding/table.h"

namespace lazydp::paper {

namespace {

DataSource choice_of(const TinySetting& setting) {
  DataSource choice;
  choice.name = setting.synthetic;
  choice.what = parse_synthetic(setting.synthetic);
  return choice;
}

Plan plan_of(const TinySetting& setting, std::string_view algorithm, std::uint64_t examples) {
  Plan plan;
  plan.recipe = recipe(algorithm);
  const auto batch = static_cast<double>(setting.batch);
  plan.mechanism = {.sampling_rate = batch / static_cast<double>(examples),
                    .clip_norm = kClipNorm,
                    .noise_multiplier = setting.noise_multiplier,
                    .expected_batch = batch};
  plan.steps = setting.steps;
  plan.table_rate = setting.rate;
  plan.dense_rate = setting.rate;
  return plan;
}

}  // namespace

TinyRun::TinyRun(const TinySetting& given, std::string_view algorithm)
    : setting(given),
      seed(Seed::fixed(given.seed)),
      task(load_data(choice_of(given), given.shape)),
      model_and_tables(given.shape, seed) {
  const Plan plan = plan_of(setting, algorithm, task.train->size());
  sampler = make_sampler(Sampling::shuffled, seed, task.train->size(), plan.mechanism.sampling_rate,
                         setting.batch);
  trainer =
      std::make_unique<Trainer>(plan, Performance{}, seed, *model_and_tables.model,
                                setting.shape.mode, model_and_tables.tables, *task.train, *sampler);
  BatchQueue batches(*task.train, *sampler, LookAhead::off);
  for (const RowId rows : setting.shape.table_rows) {
    read.emplace_back(static_cast<std::size_t>(rows), false);
  }
  for (Step t = 1; t <= setting.steps; ++t) {
    batches.advance(t);
    for (std::size_t k = 0; k < read.size(); ++k) {
      for (const RowId row : batches.current().bags[k].ids) {
        read[k][static_cast<std::size_t>(row)] = true;
      }
    }
    trainer->step();
  }
  trainer->settle_all();
}

Table TinyRun::initial_table(std::size_t k) const {
  Table table(static_cast<TableId>(k), setting.shape.table_rows[k], setting.shape.dim);
  initialise(table, seed);
  return table;
}

namespace {

// Returns P(K > x) of Kolmogorov's limiting distribution.
double tail(double x) {
  if (x < 0.2) return 1.0;  // the series needs many terms there, and the answer is 1 to 1e-10
  double sum = 0.0;
  for (int k = 1; k <= 100; ++k) {
    sum += (k % 2 == 1 ? 2.0 : -2.0) * std::exp(-2.0 * k * k * x * x);
  }
  return std::clamp(sum, 0.0, 1.0);
}

}  // namespace

KolmogorovTest against_normal(std::vector<double> values) {
  std::ranges::sort(values);
  const auto n = static_cast<double>(values.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double below = 0.5 * std::erfc(-values[i] / std::numbers::sqrt2);
    distance = std::max(
        {distance, below - static_cast<double>(i) / n, static_cast<double>(i + 1) / n - below});
  }
  return {distance, values.empty() ? 1.0 : tail(distance * std::sqrt(n))};
}

}  // namespace lazydp::paper
