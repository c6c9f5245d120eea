#include "lazydp/train/model_and_tables.h"

#include <utility>

#include "lazydp/embedding/first_weights.h"
#include "lazydp/random/stream.h"

namespace lazydp {
namespace {

std::vector<Table> make_tables(const ModelShape& shape) {
  std::vector<Table> tables;
  tables.reserve(shape.tables());
  for (std::size_t k = 0; k < shape.tables(); ++k) {
    tables.emplace_back(static_cast<TableId>(k), shape.table_rows[k], shape.dim);
  }
  return tables;
}

}  // namespace

ModelAndTables::ModelAndTables(const ModelShape& shape)
    : ModelAndTables(shape, make_tables(shape)) {}

ModelAndTables::ModelAndTables(const ModelShape& shape, std::vector<Table> some)
    : in_memory(std::move(some)), tables(in_memory), model(make_model(shape)) {}

ModelAndTables::ModelAndTables(const ModelShape& shape, const TableFolder& folder)
    : files(std::make_unique<TableFiles>(folder.path, folder.run, shape.table_rows, shape.dim)),
      tables(files->tables()),
      model(make_model(shape)) {}

ModelAndTables::ModelAndTables(const ModelShape& shape, const Seed& seed) : ModelAndTables(shape) {
  initialise(seed);
}

void ModelAndTables::initialise(const Seed& seed) {
  if (files) files->start(files->first_weights(seed));
  for (Table& table : in_memory) lazydp::initialise(table, seed);
  RandomStream random(seed, Purpose::initialisation, kDenseStream, 0);
  model->initialise([&random] { return random.uniform(); });
}

TrainingData load_data(const DataSource& source, const ModelShape& shape) {
  return load_data(source, TimingShape{.examples = 0,
                                       .dense_features = shape.dense_features(),
                                       .table_rows = shape.table_rows,
                                       .pooling = shape.pooling});
}

}  // namespace lazydp
