#pragma once
// A model and the tables it looks up, in memory or in files.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazydp/data/training_data.h"
#include "lazydp/embedding/storage/table_files.h"
#include "lazydp/embedding/table.h"
#include "lazydp/model/model.h"
#include "lazydp/model/shape.h"
#include "lazydp/random/seed.h"

namespace lazydp {

// The folder of tables that are in files, and the run that owns them.
struct TableFolder {
  std::string path;
  // The folder of the run that opens them again. None: they are deleted with the process.
  std::optional<std::string> run;
};

struct ModelAndTables {
  // All zeros; the caller fills the weights.
  explicit ModelAndTables(const ModelShape& shape);
  // All zeros, with tables in files, or with tables that the caller made.
  ModelAndTables(const ModelShape& shape, const TableFolder& folder);
  ModelAndTables(const ModelShape& shape, std::vector<Table> some);
  // Weights as training starts.
  ModelAndTables(const ModelShape& shape, const Seed& seed);

  // Sets all weights as training starts.
  void initialise(const Seed& seed);

  TableStorage storage() const { return files ? TableStorage::in(*files) : TableStorage::memory(); }

  std::unique_ptr<TableFiles> files;  // set where the tables are in files
  std::vector<Table> in_memory;
  std::span<Table> tables;
  std::unique_ptr<Model> model;  // never null
};

// The examples that a model of this shape is trained on.
TrainingData load_data(const DataSource& source, const ModelShape& shape);

}  // namespace lazydp
