#include "lazydp/data/schema.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "lazydp/base/error.h"

namespace lazydp {
namespace {

constexpr std::size_t kCriteoNumbers = 13;
constexpr std::size_t kCriteoValues = 26;

[[noreturn]] void refuse(const Column& column, const std::string& complaint) {
  throw UserError("column '" + column.name + "' " + complaint);
}

void validate_label(const Column& column) {
  if (column.positive.empty() == !column.positive_from) {
    refuse(column,
           "is the label; it needs either positive (the values that count as 1) or positive_from "
           "(the least number that does)");
  }
  if (column.positive_from && !std::isfinite(*column.positive_from)) {
    refuse(column, "has a positive_from that is not finite");
  }
  for (const std::string& value : column.negative) {
    if (std::ranges::find(column.positive, value) != column.positive.end()) {
      refuse(column, "has '" + value + "' as positive and as negative");
    }
  }
}

void validate_rows(const Column& column) {
  if (column.rows < 1 || column.rows > kMaxHashRows) {
    refuse(column, "has " + std::to_string(column.rows) +
                       " rows; it must have between 1 and 2^31 (row 0 is for missing values)");
  }
  const auto& vocabulary = column.vocabulary;
  if (!vocabulary.empty() &&
      (column.rows != vocabulary.size() + kFirstVocabularyRow ||
       std::ranges::adjacent_find(vocabulary, std::greater_equal<>()) != vocabulary.end())) {
    refuse(column, "has a vocabulary that does not fit its rows, or is not in order");
  }
  if (!(column.bucket >= 0.0) || std::isinf(column.bucket)) {
    refuse(column, "has bucket " + std::to_string(column.bucket) +
                       "; it must be a positive number, for example 3600");
  }
  if (column.bucket > 0.0 && (column.hexadecimal || column.role == Role::multi)) {
    refuse(column, "has a bucket, which only a categorical column of decimal numbers can have");
  }
}

void validate_multi(const Schema& schema, const Column& column) {
  if (column.separator.empty()) refuse(column, "is multi; it needs a separator, for example '|'");
  if (column.separator == schema.separator && !schema.quotes) {
    refuse(column, "has the separator of the columns; it needs one of its own");
  }
}

void validate(const Schema& schema, const Column& column) {
  switch (column.role) {
    case Role::ignore:
    case Role::dense: return;
    case Role::label: return validate_label(column);
    case Role::multi: validate_multi(schema, column); [[fallthrough]];
    case Role::categorical: return validate_rows(column);
  }
  throw InternalError("unknown Role");
}

}  // namespace

void Schema::validate() const {
  if (separator.empty() || separator.find_first_of("\"\r\n") != std::string::npos) {
    throw UserError("the separator must be at least one character, and neither quote nor newline");
  }
  if (columns.empty() || columns.size() > kMaxColumns) {
    throw UserError("the schema has " + std::to_string(columns.size()) +
                    " columns; it must have between 1 and " + std::to_string(kMaxColumns));
  }
  std::set<std::string_view> names;
  for (const Column& column : columns) {
    if (column.name.empty()) throw UserError("a column of the schema has no name");
    if (!names.insert(column.name).second) refuse(column, "occurs twice; names must differ");
    lazydp::validate(*this, column);
  }
  const std::size_t labels = with_role(Role::label).size();
  if (labels != 1) {
    throw UserError("the schema has " + std::to_string(labels) +
                    " columns of role label; it must have one");
  }
  if (tables().empty()) {
    throw UserError("the schema has no column of role categorical or multi; it must have one");
  }
}

std::vector<const Column*> Schema::with_role(Role role) const {
  std::vector<const Column*> found;
  for (const Column& column : columns) {
    if (column.role == role) found.push_back(&column);
  }
  return found;
}

std::vector<const Column*> Schema::tables() const {
  std::vector<const Column*> found;
  for (const Column& column : columns) {
    if (column.role == Role::categorical || column.role == Role::multi) found.push_back(&column);
  }
  return found;
}

std::vector<const Column*> Schema::keys() const {
  std::vector<const Column*> found;
  for (const Column& column : columns) {
    if (column.key) found.push_back(&column);
  }
  return found;
}

Schema criteo_schema(const std::vector<std::uint64_t>& rows, std::uint64_t salt) {
  if (rows.size() != 1 && rows.size() != kCriteoValues) {
    throw UserError("rows has " + std::to_string(rows.size()) +
                    " numbers; it must have one for all columns, or 26");
  }
  Schema schema{
      .source = "criteo", .separator = "\t", .quotes = false, .trim = false, .salt = salt};
  schema.columns.push_back(
      {.name = "label", .role = Role::label, .positive = {"1"}, .negative = {"0"}});
  for (std::size_t i = 1; i <= kCriteoNumbers; ++i) {
    schema.columns.push_back(
        {.name = "I" + std::to_string(i), .role = Role::dense, .integer = true});
  }
  for (std::size_t i = 0; i < kCriteoValues; ++i) {
    schema.columns.push_back({.name = "C" + std::to_string(i + 1),
                              .role = Role::categorical,
                              .rows = rows[rows.size() == 1 ? 0 : i],
                              .hexadecimal = true});
  }
  schema.validate();
  return schema;
}

}  // namespace lazydp
