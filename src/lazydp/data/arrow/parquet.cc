#include "lazydp/data/arrow/parquet.h"

#include "lazydp/base/error.h"

#ifdef LAZYDP_ARROW

#include <arrow/c/bridge.h>
#include <arrow/io/file.h>
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

template <class Value>
Value value_of(arrow::Result<Value> result, const std::string& path) {
  if (result.ok()) return std::move(result).ValueUnsafe();
  const std::string why = "cannot read '" + path + "': " + result.status().message();
  if (result.status().IsInvalid()) throw UserError(why);
  throw IoError(why);
}

std::vector<int> columns_of(const parquet::FileMetaData& file, const Schema& schema) {
  std::vector<int> columns;
  for (int i = 0; i < file.num_columns(); ++i) {
    const std::string name = file.schema()->Column(i)->path()->ToDotVector().front();
    const auto wanted = [&](const Column& column) {
      return column.name == name && (column.role != Role::ignore || column.key);
    };
    if (std::ranges::any_of(schema.columns, wanted)) columns.push_back(i);
  }
  return columns;
}

}  // namespace

void open_parquet(const std::string& path, const Schema& schema, ArrowArrayStream& out) {
  try {
    auto input = value_of(arrow::io::ReadableFile::Open(path), path);
    parquet::ArrowReaderProperties properties;
    properties.set_batch_size(kRowsOfABatch);
    properties.set_use_threads(true);
    properties.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    const arrow::Status opened = builder.Open(std::move(input));
    if (!opened.ok()) throw UserError("cannot read '" + path + "': " + opened.message());
    std::unique_ptr<parquet::arrow::FileReader> file =
        value_of(builder.properties(properties)->Build(), path);
    const std::shared_ptr<parquet::FileMetaData> facts = file->parquet_reader()->metadata();
    std::vector<int> groups(static_cast<std::size_t>(facts->num_row_groups()));
    for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<int>(i);
    std::shared_ptr<arrow::RecordBatchReader> batches =
        value_of(file->GetRecordBatchReader(groups, columns_of(*facts, schema)), path);
    const arrow::Status exported = arrow::ExportRecordBatchReader(
        std::make_shared<Batches>(std::move(file), std::move(batches)), &out);
    if (!exported.ok()) throw IoError("cannot read '" + path + "': " + exported.message());
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
      "' cannot be read: this program was built without Arrow C++. Install its packages "
      "libarrow-dev and libparquet-dev (arrow.apache.org/install) and build again, or "
      "convert it in Python: lazydp.convert(pyarrow.dataset.dataset(FILE).scanner()"
      ".to_reader(), OUT, SCHEMA)");
}

}  // namespace lazydp

#endif
