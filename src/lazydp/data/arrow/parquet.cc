#include "lazydp/data/arrow/parquet.h"

#include "lazydp/base/error.h"

#ifdef LAZYDP_ARROW

#include <arrow/c/bridge.h>
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace lazydp {
namespace {

constexpr std::int64_t kRowsOfABatch = std::int64_t{64} << 10;

// The batches of a file, which lives as long as they are read.
class Batches final : public arrow::RecordBatchReader {
 public:
  Batches(std::unique_ptr<parquet::arrow::FileReader> file,
          std::shared_ptr<arrow::RecordBatchReader> batches)
      : file_(std::move(file)), batches_(std::move(batches)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return batches_->schema(); }
  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* batch) override {
    return batches_->ReadNext(batch);
  }

 private:
  std::unique_ptr<parquet::arrow::FileReader> file_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
};

// Throws UserError for a file that is no Parquet, IoError for one that cannot be read.
void require(const arrow::Status& status, const std::string& path) {
  if (status.ok()) return;
  const std::string detail = status.detail() ? ": " + status.detail()->ToString() : "";
  const std::string why = "cannot read '" + path + "': " + status.message() + detail;
  if (status.IsInvalid()) throw UserError(why);
  throw IoError(why);
}

template <class Value>
Value value_of(arrow::Result<Value> result, const std::string& path) {
  require(result.status(), path);
  return std::move(result).ValueUnsafe();
}

// Returns the schema's column that column `i` of the file is, or is a part of; null for one that is
// not read.
const Column* column_of(const parquet::FileMetaData& file, int i, const Schema& schema) {
  const std::string name = file.schema()->Column(i)->path()->ToDotVector().front();
  const auto found = std::ranges::find(schema.columns, name, &Column::name);
  if (found == schema.columns.end() || (found->role == Role::ignore && !found->key)) return nullptr;
  return &*found;
}

// Asks for text that is a category as the dictionary that Parquet mostly has it as: each of its
// values is then hashed once.
void read_dictionaries(const parquet::FileMetaData& file, const Schema& schema,
                       parquet::ArrowReaderProperties& properties) {
  for (int i = 0; i < file.num_columns(); ++i) {
    const Column* column = column_of(file, i, schema);
    const bool text = file.schema()->Column(i)->physical_type() == parquet::Type::BYTE_ARRAY;
    if (text && column != nullptr && column->role == Role::categorical && !column->key) {
      properties.set_read_dictionary(i, true);
    }
  }
}

}  // namespace

void open_parquet(const std::string& path, const Schema& schema, ArrowArrayStream& out) {
  try {
    auto input = value_of(arrow::io::ReadableFile::Open(path), path);
    parquet::ArrowReaderProperties properties;
    properties.set_batch_size(kRowsOfABatch);
    properties.set_use_threads(true);
    properties.set_pre_buffer(false);  // it would hold whole row groups
    parquet::arrow::FileReaderBuilder builder;
    parquet::ReaderProperties checked;
    checked.set_page_checksum_verification(true);  // of pages that have one
    require(builder.Open(std::move(input), checked), path);
    std::unique_ptr<parquet::arrow::FileReader> file;
    const std::shared_ptr<parquet::FileMetaData> facts = builder.raw_reader()->metadata();
    read_dictionaries(*facts, schema, properties);
    require(builder.properties(properties)->Build(&file), path);
    std::vector<int> groups(static_cast<std::size_t>(facts->num_row_groups()));
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<int>(i);
    std::vector<int> columns;
    for (int i = 0; i < facts->num_columns(); ++i) {
      if (column_of(*facts, i, schema) != nullptr) columns.push_back(i);
    }
    std::shared_ptr<arrow::RecordBatchReader> batches =
        value_of(file->GetRecordBatchReader(groups, columns), path);
    require(arrow::ExportRecordBatchReader(
                std::make_shared<Batches>(std::move(file), std::move(batches)), &out),
            path);
  } catch (const parquet::ParquetException& error) {
    throw UserError("cannot read '" + path + "': " + error.what());
  }
}

}  // namespace lazydp

#else

namespace lazydp {

void open_parquet(const std::string& path, const Schema& /*schema*/, ArrowArrayStream& /*out*/) {
  throw UserError(
      "'" + path +
      "' cannot be read: this program was built without Arrow C++. Install libarrow-dev and "
      "libparquet-dev (arrow.apache.org/install) and build again, or convert it in Python: "
      "lazydp.convert(pyarrow.dataset.dataset(FILE).scanner().to_reader(), OUT, SCHEMA)");
}

}  // namespace lazydp

#endif
