#include "lazydp/data/arrow/row_encoder.h"

#include <cmath>

#include "lazydp/base/error.h"

namespace lazydp {

ArrowColumns::ArrowColumns(const Schema& schema, const ArrowSchema& stream, const std::string& name)
    : stream_columns_(stream.n_children) {
  if (std::string_view(stream.format) != "+s") {
    throw UserError(name + " is no table: it has no named columns");
  }
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    const lazydp::Column& column = schema.columns[i];
    if (column.role == Role::ignore && !column.key) continue;
    std::optional<std::size_t> place;
    for (std::size_t c = 0; c < static_cast<std::size_t>(stream.n_children); ++c) {
      if (stream.children[c]->name == nullptr || column.name != stream.children[c]->name) continue;
      if (place) throw UserError(name + " has the column " + shown(column.name) + " twice");
      place = c;
    }
    if (!place) {
      throw UserError(name + " has no column " + shown(column.name) + ", which the schema has");
    }
    columns_.push_back({i, *place, ArrowType::of(*stream.children[*place], column.name)});
  }
}

ArrowBatch::ArrowBatch(const std::vector<ColumnEncoder>& encoders, const ArrowColumns& columns,
                       const ArrowArray& array)
    : rows_(array.length) {
  const bool null_rows =
      array.n_buffers > 0 && array.buffers[0] != nullptr && array.null_count != 0;
  if (array.n_children < columns.stream_columns()) {
    throw UserError("the data breaks the Arrow C data interface");
  }
  if (null_rows) throw UserError("a batch has rows that are null as a whole; leave them out first");
  columns_.reserve(columns.all().size());
  for (const ArrowColumns::Column& column : columns.all()) {
    const ColumnEncoder& encoder = encoders[column.encoder];
    const ArrowArray& child = *array.children[column.child];
    if (child.length < array.offset + array.length) {
      throw UserError("the data breaks the Arrow C data interface");
    }
    ArrowValues values(column.type, child, array.offset);
    const bool as_number = values.is_number() && encoder.takes_number();
    columns_.push_back({&encoder, std::move(values), as_number});
    look_up_dictionary(columns_.back());
  }
}

void ArrowBatch::look_up_dictionary(Column& column) const {
  const lazydp::Column& of = column.encoder->column();
  if (!column.values.is_dictionary() || of.role != Role::categorical || of.key) return;
  const ArrowValues& values = column.values.dictionary();
  if (values.size() > rows_) return;
  ArrowValues::Scratch scratch;
  std::string why;
  for (std::int64_t i = 0; i < values.size(); ++i) {
    std::uint32_t row = kNoRow;
    if (!values.is_null(i)) {
      const std::string_view text = column.encoder->trimmed(values.text(i, scratch));
      if (column.encoder->missing(text) || !column.encoder->find_row(text, row, why)) row = kNoRow;
    }
    column.rows.push_back(row);
  }
}

void ArrowBatch::prepare(std::int64_t begin, std::int64_t end, Cells& cells) const {
  const auto count = static_cast<std::size_t>(end - begin);
  cells.first = begin;
  cells.ids.resize(columns_.size());
  cells.numbers.resize(columns_.size());
  cells.values.resize(count);
  cells.indices.resize(count);
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    std::vector<std::uint32_t>& ids = cells.ids[c];
    std::vector<float>& numbers = cells.numbers[c];
    ids.clear();
    numbers.clear();
    if (!column.rows.empty()) {
      column.values.indices(begin, cells.indices);
      for (const std::int64_t i : cells.indices) {
        ids.push_back(i < 0 ? 0 : column.rows[static_cast<std::size_t>(i)]);
      }
    } else if (column.as_number) {
      const bool dense = column.encoder->column().role == Role::dense;
      column.values.numbers(begin, cells.values);
      for (const double value : cells.values) {
        const bool missing = dense && std::isnan(value);
        numbers.push_back(missing ? 0.0f : column.encoder->usable_number(value));
      }
    }
  }
}

std::optional<std::string> ArrowBatch::encode(std::int64_t row, Cells& cells, Records& out) const {
  const auto at = static_cast<std::size_t>(row - cells.first);
  std::string why;
  out.begin();
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    if (!cells.ids[c].empty() && cells.ids[c][at] != kNoRow) {
      column.encoder->set_row(cells.ids[c][at], out);
    } else if (!cells.numbers[c].empty() && !std::isnan(cells.numbers[c][at])) {
      column.encoder->set_number(cells.numbers[c][at], out);
    } else if (!encode_value(column, row, out, why, cells.list)) {
      return why;
    }
  }
  return std::nullopt;
}

bool ArrowBatch::encode_value(const Column& column, std::int64_t row, Records& out,
                              std::string& why, std::vector<std::string_view>& list) {
  const ColumnEncoder& encoder = *column.encoder;
  const ArrowValues& values = column.values;
  if (values.is_null(row)) return encoder.encode_missing(out, why);
  if (column.as_number) return encoder.encode_number(values.number(row), out, why);
  if (values.is_list()) return encode_list(column, row, out, why, list);
  ArrowValues::Scratch scratch;
  return encoder.encode(encoder.trimmed(values.text(row, scratch)), out, why);
}

bool ArrowBatch::encode_list(const Column& column, std::int64_t row, Records& out, std::string& why,
                             std::vector<std::string_view>& list) {
  const ArrowValues::Range range = column.values.list(row);
  const ArrowValues& elements = column.values.elements();
  std::vector<ArrowValues::Scratch> texts;
  if (!elements.is_text()) texts.resize(static_cast<std::size_t>(range.end - range.begin));
  ArrowValues::Scratch unused;
  list.clear();
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    if (elements.is_null(i)) continue;
    const auto place = static_cast<std::size_t>(i - range.begin);
    list.push_back(elements.text(i, texts.empty() ? unused : texts[place]));
  }
  return column.encoder->encode_list(list, out, why);
}

}  // namespace lazydp
