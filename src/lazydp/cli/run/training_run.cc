#include "lazydp/cli/run/training_run.h"

#include "lazydp/base/error.h"
#include "lazydp/embedding/table.h"
#include "lazydp/random/stream.h"

namespace lazydp::cli {
namespace {

std::vector<Table> make_tables(const ModelShape& shape) {
  std::vector<Table> tables;
  tables.reserve(shape.tables());
  for (std::size_t k = 0; k < shape.tables(); ++k) {
    tables.emplace_back(static_cast<TableId>(k), shape.table_rows[k], shape.dim);
  }
  return tables;
}

Session make_session(const RunOptions& options, const std::optional<std::string>& run,
                     const Layout& layout, int rank) {
  const ModelShape& shape = options.model.shape;
  return options.table_folder ? Session(shape, TableFolder{*options.table_folder, run})
                              : Session(shape, lazydp::make_tables(layout, rank, shape.dim));
}

}  // namespace

Session::Session(const ModelShape& shape) : Session(shape, make_tables(shape)) {}

Session::Session(const ModelShape& shape, std::vector<Table> some)
    : in_memory(std::move(some)), tables(in_memory), model(shape) {}

Session::Session(const ModelShape& shape, const TableFolder& folder)
    : files(std::make_unique<TableFiles>(folder.path, folder.run, shape.table_rows, shape.dim)),
      tables(files->tables()),
      model(shape) {}

Session::Session(const ModelShape& shape, const Seed& seed) : Session(shape) {
  initialise(seed);
}

void Session::initialise(const Seed& seed) {
  if (files) files->start(files->first_weights(seed));
  for (Table& table : in_memory) lazydp::initialise(table, seed);
  RandomStream random(seed, Purpose::initialisation, kDenseStream, 0);
  initialise_dense(
      model.shape(), [&random] { return random.uniform(); }, model.parameters());
}

std::unique_ptr<Sampler> make_sampler(Sampling sampling, const Seed& seed, std::uint64_t examples,
                                      double rate, std::uint64_t batch) {
  return sampling == Sampling::poisson ? make_poisson_sampler(seed, examples, rate)
                                       : make_shuffled_sampler(seed, examples, batch);
}

namespace {

// Over the units of the data, if the run protects those.
std::unique_ptr<Sampler> make_sampler(const RunOptions& options, const Seed& seed) {
  const double rate = options.plan.mechanism.sampling_rate;
  const auto& data = options.task.file;
  if (!data || !data->units) {
    return make_sampler(options.sampling, seed, options.task.examples(), rate, options.batch);
  }
  check(options.sampling == Sampling::poisson, "units are sampled by Poisson sampling");
  return make_unit_sampler(seed, *data->units, rate, data->unit);
}

}  // namespace

Layout layout_of(const RunOptions& options, int ranks) {
  return {options.model.shape.table_rows, ranks,
          small_table(options.plan.mechanism.expected_batch, ranks)};
}

Running::Running(const RunOptions& options, const Dataset& data, const Seed& seed, Weights weights,
                 const std::optional<std::string>& run, Communicator& ranks)
    : layout(layout_of(options, ranks.size())),
      session(make_session(options, run, layout, ranks.rank())),
      sampler(make_sampler(options, seed)),
      part(ranks.size() == 1 ? nullptr
                             : std::make_unique<RankPart>(ranks, layout, session.tables,
                                                          options.model.shape.mode, *sampler)),
      trainer(options.plan, options.performance, seed, session.model, options.model.shape.mode,
              session.tables, data, part ? *part->sampler : *sampler, session.files.get(),
              part ? &part->exchange : nullptr) {
  if (weights == Weights::initial) session.initialise(seed);
}

}  // namespace lazydp::cli
