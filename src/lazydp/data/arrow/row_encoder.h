#pragma once
// Makes examples of the rows of a batch.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/data/arrow/arrow_abi.h"
#include "lazydp/data/arrow/arrow_column.h"
#include "lazydp/data/column_encoder.h"
#include "lazydp/data/file/file_layout.h"
#include "lazydp/data/schema.h"

namespace lazydp {

// The columns of a schema in a stream: their places and types.
class ArrowColumns {
 public:
  // Throws UserError if the stream lacks a column of the schema, has it twice, or has values in it
  // that no example has. Columns that the schema ignores need not be there.
  ArrowColumns(const Schema& schema, const ArrowSchema& stream, const std::string& name);

  struct Column {
    std::size_t encoder;  // index of the schema's column
    std::size_t child;    // index of the stream's
    ArrowType type;
  };
  const std::vector<Column>& all() const { return columns_; }
  std::int64_t stream_columns() const { return stream_columns_; }

 private:
  std::int64_t stream_columns_;
  std::vector<Column> columns_;
};

// One batch, ready to be read by several threads.
class ArrowBatch {
 public:
  // All must outlive the batch.
  ArrowBatch(const std::vector<ColumnEncoder>& encoders, const ArrowColumns& columns,
             const ArrowArray& array);

  std::int64_t rows() const { return rows_; }

  // What columns have in some rows, where that is found best column by column. A thread's own.
  struct Cells {
    std::int64_t first = 0;                            // row
    std::vector<std::vector<std::uint32_t>> ids = {};  // of dictionaries; kNoRow: see the value
    std::vector<std::vector<float>> numbers = {};      // of numbers; NaN: see the value
    std::vector<double> values = {};
    std::vector<std::int64_t> indices = {};
    std::vector<std::string_view> list = {};
  };

  // Prepares the rows from `begin` to `end`.
  void prepare(std::int64_t begin, std::int64_t end, Cells& cells) const;

  // Adds the example in a row that was prepared to `out`, or returns why there is none.
  std::optional<std::string> encode(std::int64_t row, Cells& cells, Records& out) const;

 private:
  struct Column {
    const ColumnEncoder* encoder;
    ArrowValues values;
    bool as_number;
    // Rows of a dictionary's values, where they are not more than the batch has rows; kNoRow: null,
    // or a value that cannot be used.
    std::vector<std::uint32_t> rows = {};
  };
  static constexpr std::uint32_t kNoRow = ~std::uint32_t{0};

  void look_up_dictionary(Column& column) const;
  static bool encode_value(const Column& column, std::int64_t row, Records& out, std::string& why,
                           std::vector<std::string_view>& list);
  static bool encode_list(const Column& column, std::int64_t row, Records& out, std::string& why,
                          std::vector<std::string_view>& list);

  std::int64_t rows_;
  std::vector<Column> columns_;
};

}  // namespace lazydp
