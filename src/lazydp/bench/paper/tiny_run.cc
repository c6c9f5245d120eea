#include "lazydp/bench/paper/tiny_run.h"

#include "lazydp/embedding/initialise.h"

namespace lazydp::paper {
namespace {

TaskChoice choice_of(const TinySetting& setting) {
  TaskChoice choice;
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
      task(make_task(choice_of(given), given.shape)),
      session(given.shape, seed) {
  const Plan plan = plan_of(setting, algorithm, task.train->size());
  sampler = make_sampler(Sampling::shuffled, seed, task.train->size(), plan.mechanism.sampling_rate,
                         setting.batch);
  trainer = std::make_unique<Trainer>(plan, Performance{}, seed, session.model, setting.shape.mode,
                                      session.tables, *task.train, *sampler);
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

}  // namespace lazydp::paper
