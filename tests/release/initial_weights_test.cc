// Weights of a file, as a run begins with them: on one rank or several, in memory or in files.

#include "lazydp/release/initial_weights.h"

#include <gtest/gtest.h>

#include <numeric>

#include "lazydp/export/export_weights.h"
#include "lazydp/export/safetensors.h"
#include "tests/support/small_world.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

using oracle::small_shape;

// A file in which every weight is its number, and the shape it is for.
struct Numbered {
  TemporaryFolder scratch;
  ModelShape shape = small_shape({5, 9});
  std::string path = (scratch / "weights.safetensors").string();
  std::vector<float> numbers = std::vector<float>(1000);

  Numbered() {
    std::iota(numbers.begin(), numbers.end(), 1.0f);
    std::vector<TensorSource> tensors;
    std::size_t at = 0;
    const auto add = [&](const std::string& name, std::vector<std::size_t> extents) {
      const std::size_t size =
          std::accumulate(extents.begin(), extents.end(), std::size_t{1}, std::multiplies<>());
      tensors.push_back({name, std::move(extents), std::span(numbers).subspan(at, size)});
      at += size;
    };
    for (std::size_t k = 0; k < 2; ++k) {
      add(table_name(k), {static_cast<std::size_t>(shape.table_rows[k]), shape.dim});
    }
    const ModelAndTables model(shape);
    for (const NamedTensor& tensor : model.model->layout()) add(tensor.name, tensor.shape);
    write_safetensors(path, tensors, {});
  }
};

TEST(InitialWeights, ReachEveryPlace) {
  const Numbered file;
  const InitialWeights weights(file.path, Provenance::declared_public);
  weights.require_fits(file.shape, nullptr);
  EXPECT_EQ(weights.largest_weight(), 14.0f * 4.0f) << "of tables";
  ModelAndTables model(file.shape);
  weights.load(model, weights.file());
  float next = 1.0f;
  for (Table& table : model.tables) {
    for (RowId r = 0; r < table.rows(); ++r) {
      for (const float value : table.row(r)) EXPECT_EQ(value, next++);
    }
  }
  for (const float value : model.model->parameters()) EXPECT_EQ(value, next++);
}

TEST(InitialWeights, GiveARankTheRowsThatItHolds) {
  const Numbered file;
  const InitialWeights weights(file.path, Provenance::declared_public);
  std::vector<Table> part;
  part.emplace_back(TableId{0}, RowRange{0, 5}, 5, file.shape.dim);
  part.emplace_back(TableId{1}, RowRange{6, 2}, 9, file.shape.dim);
  ModelAndTables model(file.shape, std::move(part));
  weights.load(model, weights.file());
  EXPECT_EQ(model.tables[0].row(0)[0], 1.0f);
  EXPECT_EQ(model.tables[1].row(0)[0], 1.0f + (5 + 6) * 4);
  EXPECT_EQ(model.tables[1].row(1)[3], 4.0f + (5 + 7) * 4);
}

TEST(InitialWeights, OfTablesInFilesWaitInTheirFile) {
  const Numbered file;
  const InitialWeights weights(file.path, Provenance::declared_public);
  ModelAndTables model(file.shape, TableFolder{(file.scratch / "tables").string(), std::nullopt});
  weights.load(model, weights.file());
  std::vector<float> row(4);
  model.files->file(1).copy(8, row);
  EXPECT_EQ(row[3], 14.0f * 4.0f);
}

TEST(InitialWeights, MustBeThoseOfTheModelAndNoOthers) {
  const Numbered file;
  const InitialWeights weights(file.path, Provenance::declared_public);
  ModelShape other = file.shape;
  other.table_rows = {5, 9, 2};
  EXPECT_THROW(weights.require_fits(other, nullptr), UserError);
  other.table_rows = {5};
  EXPECT_THROW(weights.require_fits(other, nullptr), UserError);
  EXPECT_THROW(InitialWeights(file.path, Provenance::card), PrivacyError);
}

}  // namespace
}  // namespace lazydp
