#include "lazydp/cli/run/training_run.h"

#include "lazydp/base/error.h"
#include "lazydp/data/samplers.h"
#include "lazydp/data/stream.h"
#include "lazydp/embedding/table.h"
#include "lazydp/random/stream.h"

namespace lazydp::cli {
namespace {

// Makes the exchange between a batch and its rows: all of them here, or some on other ranks.
std::unique_ptr<RowExchange> make_exchange(const RunOptions& options, ModelAndTables& tables,
                                           const Layout& layout, Communicator& ranks) {
  const Pooling mode = options.model.shape.mode;
  if (ranks.size() == 1) return std::make_unique<LocalExchange>(mode, tables.storage());
  return std::make_unique<RankExchange>(ranks, layout, tables.tables, mode);
}

ModelAndTables make_model_and_tables(const RunOptions& options,
                                     const std::optional<std::string>& run, const Layout& layout,
                                     int rank) {
  const ModelShape& shape = options.model.shape;
  return options.table_folder ? ModelAndTables(shape, TableFolder{*options.table_folder, run})
                              : ModelAndTables(shape, lazydp::make_tables(layout, rank, shape.dim));
}

// Cuts the data of a stream into the windows of its steps.
Windows windows_of(const RunOptions& options) {
  const auto& data = options.task.file;
  return data ? Windows(*data->train, options.places_a_step)
              : Windows(options.task.examples(), options.places_a_step);
}

std::unique_ptr<Sampler> make_stream(const RunOptions& options, const Seed& seed) {
  const auto& data = options.task.file;
  const Plan& plan = options.plan;
  if (!data || !data->units) return make_stream_sampler(windows_of(options), options.before_data);
  return make_unit_stream_sampler(seed, windows_of(options), *data->units, data->unit,
                                  {.participations = plan.blocks->times,
                                   .gap = plan.blocks->separation,
                                   .most = plan.examples_per_unit,
                                   .before = options.before_data,
                                   .steps = plan.steps});
}

// Draws examples, or units, by their numbers.
std::unique_ptr<Sampler> make_numbers(const RunOptions& options, const Seed& seed) {
  const std::uint64_t population = options.task.examples();
  if (options.sampling == Sampling::balls_in_bins) {
    return make_bins_sampler(seed, population, options.plan.blocks->separation);
  }
  return make_sampler(options.sampling, seed, population, options.plan.mechanism.sampling_rate,
                      options.batch);
}

// Samples the units of the data, if the run protects those.
std::unique_ptr<Sampler> make_sampler(const RunOptions& options, const Seed& seed) {
  if (options.sampling == Sampling::stream) return make_stream(options, seed);
  const auto& data = options.task.file;
  if (!data || !data->units) return make_numbers(options, seed);
  return make_unit_sampler(seed, *data->units, make_numbers(options, seed), data->unit,
                           options.plan.examples_per_unit);
}

}  // namespace

Layout layout_of(const RunOptions& options, int ranks) {
  return {options.model.shape.table_rows, ranks,
          small_table(options.plan.mechanism.expected_batch, ranks)};
}

TrainingRun::TrainingRun(const RunOptions& options, const Dataset& data, const Seed& seed,
                         Weights weights, const std::optional<std::string>& run,
                         Communicator& ranks, const std::string& rows_file)
    : layout(layout_of(options, ranks.size())),
      model_and_tables(make_model_and_tables(options, run, layout, ranks.rank())),
      sampler(make_sampler(options, seed)),
      part(make_part_of_sample(*sampler, ranks.rank(), ranks.size())),
      trainer(std::make_unique<Trainer>(
          options.plan, options.performance, seed, *model_and_tables.model,
          options.model.shape.mode, model_and_tables.tables, data, *part,
          model_and_tables.storage(), make_exchange(options, model_and_tables, layout, ranks))) {
  if (weights == Weights::zero) return;
  if (options.initial) {
    options.initial->load(model_and_tables,
                          rows_file.empty() ? options.initial->file() : rows_file);
  } else {
    model_and_tables.initialise(seed);
  }
}

}  // namespace lazydp::cli
