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
#include "lazydp/model/dlrm.h"
#include "lazydp/model/shape.h"
#include "lazydp/random/seed.h"

namespace lazydp {

// Where tables that are in files have their folder, and whose they are.
struct TableFolder {
  std::string path;
  std::optional<std::string> run;  // the folder of the run that finds them again; none: nobody does
};

struct ModelAndTables {
  explicit ModelAndTables(const ModelShape& shape);                 // all zeros, for who fills it
  ModelAndTables(const ModelShape& shape, const Seed& initialise);  // as training starts
  ModelAndTables(const ModelShape& shape,
                 const TableFolder& folder);                         // in files, for who fills them
  ModelAndTables(const ModelShape& shape, std::vector<Table> some);  // with tables made elsewhere

  void initialise(const Seed& seed);  // as training starts

  std::unique_ptr<TableFiles> files;  // null: the tables are in memory
  std::vector<Table> in_memory;
  std::span<Table> tables;
  Dlrm model;
};

// The examples that a model of this shape is trained on.
TrainingData load_data(const DataSource& source, const ModelShape& shape);

}  // namespace lazydp
