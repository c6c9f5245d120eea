#include "lazydp/data/text/line_parser.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lazydp {
namespace {

std::string count_complaint(std::size_t wanted, std::size_t got) {
  return "the line has " + std::to_string(got) + (got == 1 ? " column" : " columns") +
         "; it must have " + std::to_string(wanted);
}

std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

std::string separator_name(std::string_view separator) {
  if (separator == "\t") return "tab";
  return "'" + std::string(separator) + "'";
}

std::size_t index_of(const Schema& schema, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(schema.columns, name, &Column::name) -
                                  schema.columns.begin());
}

// Returns whether a value of the column may be refused, so that the name of a column would be.
bool is_checked(const Column& column) {
  switch (column.role) {
    case Role::label: return column.positive_from || !column.negative.empty();
    case Role::dense: return true;
    case Role::categorical: return column.hexadecimal || column.bucket > 0.0;
    case Role::multi: return column.hexadecimal;
    case Role::ignore: return false;
  }
  return false;
}

}  // namespace

LineParser::LineParser(const Schema& schema, std::size_t longest_record,
                       std::vector<Lookup>* lookups, std::shared_ptr<const JoinedTable> joined)
    : schema_(schema),
      encoders_(ColumnEncoder::all(schema_)),
      joined_(std::move(joined)),
      own_(schema.columns.size() - (joined_ ? joined_->columns().size() : 0)),
      key_(joined_ ? index_of(schema, joined_->key()) : own_),
      longest_record_(longest_record),
      lookups_(lookups) {}

std::optional<Complaint> LineParser::parse(std::string_view line, Records& out) {
  std::optional<Complaint> complaint = parse_fields(line, out);
  if (complaint) {
    if (std::optional<Complaint> better = missing_separator(line)) return better;
  }
  return complaint;
}

std::optional<Complaint> LineParser::parse_fields(std::string_view line, Records& out) {
  out.begin();
  Fields fields(schema_, line, scratch_);
  for (std::size_t i = 0; i < own_; ++i) {
    const ColumnEncoder& encoder = encoders_[i];
    const std::size_t column = fields.column();
    if (!fields.more()) return Complaint{line.size() + 1, count_complaint(own_, i)};
    const std::optional<Field> field = fields.next();
    if (!field) {
      return Complaint{column, encoder.column().name + " starts a quote that does not end well"};
    }
    if (!encoder.encode(field->value, out, why_, lookups_)) return Complaint{field->column, why_};
    if (i == key_) key_value_ = field->value;
  }
  if (fields.more()) {
    const std::size_t column = fields.column();
    std::size_t count = own_;
    for (; fields.more() && fields.next(); ++count) {
    }
    return Complaint{column, count_complaint(own_, count)};
  }
  if (joined_ && !add_joined(out)) {
    return Complaint{1, "in the row that is joined for " + shown(key_value_) + " " + why_};
  }
  if (out.bytes_of_open() > longest_record_) {
    return Complaint{1, "the line has more values than fit into a page of the data file"};
  }
  out.end();
  return std::nullopt;
}

// A key that the table lacks has missing values.
bool LineParser::add_joined(Records& out) {
  const JoinedTable::Row* row = joined_->find(key_value_);
  for (std::size_t i = own_; i < encoders_.size(); ++i) {
    const std::string& value = row != nullptr ? (*row)[i - own_] : schema_.missing.front();
    if (!encoders_[i].encode(value, out, why_, lookups_)) return false;
  }
  missing_keys_ += row == nullptr ? 1 : 0;
  return true;
}

// Explains a line whose columns something else than the separator seems to stand between.
std::optional<Complaint> LineParser::missing_separator(std::string_view line) const {
  constexpr std::array<std::string_view, 5> kOthers = {"\t", "::", ",", ";", "|"};
  if (own_ == 1 || line.find(schema_.separator) != std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view other =
      *std::ranges::max_element(kOthers, {}, [line](auto s) { return occurrences(line, s); });
  const std::size_t count = occurrences(line, other);
  if (count == 0) return std::nullopt;
  return Complaint{1, "there is no " + separator_name(schema_.separator) +
                          ", the separator of the schema, in the line; it has " +
                          separator_name(other) + " " + std::to_string(count) +
                          (count == 1 ? " time" : " times")};
}

std::optional<Complaint> LineParser::parse_header(std::string_view line) {
  Fields fields(schema_, line, scratch_);
  for (std::size_t i = 0; i < own_; ++i) {
    const ColumnEncoder& encoder = encoders_[i];
    const std::optional<Field> field = fields.more() ? fields.next() : std::nullopt;
    if (!field || field->value != encoder.column().name) {
      return Complaint{field ? field->column : line.size() + 1,
                       "the header has " + (field ? shown(field->value) : "nothing") +
                           " where the schema has '" + encoder.column().name + "'"};
    }
  }
  if (fields.more())
    return Complaint{fields.column(), "the header has more columns than the schema"};
  return std::nullopt;
}

std::optional<Complaint> LineParser::parse_first(std::string_view line, Records& out) {
  std::optional<Complaint> header = parse_header(line);
  if (!header) return std::nullopt;
  if (!schema_.header) return parse(line, out);
  header->of_input = true;
  if (!std::ranges::any_of(schema_.columns, is_checked) || names_a_column(line)) return header;
  return parse(line, out) ? header : std::nullopt;
}

bool LineParser::names_a_column(std::string_view line) {
  for (Fields fields(schema_, line, scratch_); fields.more();) {
    const std::optional<Field> field = fields.next();
    if (!field) return false;
    const auto is_name = [&](const Column& column) { return column.name == field->value; };
    if (std::ranges::any_of(schema_.columns, is_name)) return true;
  }
  return false;
}

// Most lines are told from a header by their first character.
bool LineParser::is_header(std::string_view line) {
  const std::string_view unquoted = line.starts_with('"') ? line.substr(1) : line;
  return unquoted.starts_with(schema_.columns.front().name) && !parse_header(line);
}

TextFormat separated_text(const Schema& schema, std::shared_ptr<const JoinedTable> joined) {
  if (joined) joined->require_columns(schema);
  return {.rules = {.ends = RecordEnds(schema)},
          .make_parser = [joined = std::move(joined)](const Schema& of, std::size_t longest,
                                                      std::vector<Lookup>* lookups) {
            return std::make_unique<LineParser>(of, longest, lookups, joined);
          }};
}

}  // namespace lazydp
