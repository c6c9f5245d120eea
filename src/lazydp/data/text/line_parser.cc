#include "lazydp/data/text/line_parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "lazydp/base/error.h"
#include "lazydp/data/text/hash_row.h"

namespace lazydp {
namespace {

// Returns a value as an error message shows it: short, and safe on a terminal.
std::string shown(std::string_view value) {
  constexpr std::size_t kMost = 40;
  std::string text(value.substr(0, kMost));
  std::ranges::replace_if(
      text, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; }, '?');
  return "'" + text + (value.size() > kMost ? "...'" : "'");
}

// Returns log(1 + x) in double; log is faster than log1p, and as good where 1 + x loses nothing
// that matters.
double log_of_one_and(double x) {
  return x >= 1.0 ? std::log(1.0 + x) : std::log1p(x);
}

// -1: not a hexadecimal digit.
constexpr std::array<std::int8_t, 256> kHexDigits = [] {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (const std::string_view digits : {"0123456789abcdef", "0123456789ABCDEF"}) {
    for (std::size_t i = 0; i < digits.size(); ++i) {
      values[static_cast<unsigned char>(digits[i])] = static_cast<std::int8_t>(i);
    }
  }
  return values;
}();

// Parses at most 16 digits.
bool parse_hexadecimal(std::string_view text, std::uint64_t& out) {
  if (text.empty() || text.size() > 16) return false;
  int signs = 0;
  out = 0;
  for (const char c : text) {
    const std::int8_t digit = kHexDigits[static_cast<unsigned char>(c)];
    signs |= digit;
    out = out << 4 | static_cast<std::uint64_t>(digit & 15);
  }
  return signs >= 0;
}

// Parses all of `text`.
template <class Number>
std::errc whole(std::string_view text, Number& out) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, out);
  if (error != std::errc()) return error;
  return stop == end ? std::errc() : std::errc::invalid_argument;
}

std::string_view without_plus(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

std::string count_complaint(std::size_t wanted, std::size_t got) {
  return "the line has " + std::to_string(got) + (got == 1 ? " column" : " columns") +
         "; it must have " + std::to_string(wanted);
}

}  // namespace

LineParser::LineParser(const Schema& schema, std::size_t longest_record)
    : schema_(schema),
      longest_record_(longest_record),
      empty_is_missing_(is_listed("")),
      others_missing_(schema.missing.size() > (empty_is_missing_ ? 1u : 0u)) {
  std::array<std::size_t, 5> places{};
  std::size_t keys = 0;
  std::size_t tables = 0;
  for (const Column& column : schema_.columns) {
    const bool has_table = column.role == Role::categorical || column.role == Role::multi;
    plans_.push_back({.column = &column,
                      .place = places[static_cast<std::size_t>(column.role)]++,
                      .key = column.key ? keys++ : 0,
                      .table = has_table ? tables++ : 0,
                      .seed = column_seed(column.name, schema_.salt)});
  }
}

std::optional<Complaint> LineParser::parse(std::string_view line, Records& out) {
  out.begin();
  Fields fields(schema_, line, scratch_);
  for (const Plan& plan : plans_) {
    const std::size_t column = fields.column();
    if (!fields.more()) {
      return Complaint{
          line.size() + 1,
          count_complaint(plans_.size(), static_cast<std::size_t>(&plan - plans_.data()))};
    }
    const std::optional<Field> field = fields.next();
    if (!field)
      return Complaint{column,
                       plan.column->name + " starts a quote that does not end well on its line"};
    if (!use(plan, field->value, out)) return Complaint{field->column, why_};
  }
  if (fields.more()) {
    const std::size_t column = fields.column();
    std::size_t count = plans_.size();
    for (; fields.more() && fields.next(); ++count) {
    }
    return Complaint{column, count_complaint(plans_.size(), count)};
  }
  if (out.bytes_of_open() > longest_record_) {
    return Complaint{1, "the line has more values than fit into a page of the data file"};
  }
  out.end();
  return std::nullopt;
}

std::optional<Complaint> LineParser::parse_header(std::string_view line) {
  Fields fields(schema_, line, scratch_);
  for (const Plan& plan : plans_) {
    const std::optional<Field> field = fields.more() ? fields.next() : std::nullopt;
    if (!field || field->value != plan.column->name) {
      return Complaint{field ? field->column : line.size() + 1,
                       "the header has " + (field ? shown(field->value) : "nothing") +
                           " where the schema has '" + plan.column->name + "'"};
    }
  }
  if (fields.more())
    return Complaint{fields.column(), "the header has more columns than the schema"};
  return std::nullopt;
}

bool LineParser::use(const Plan& plan, std::string_view value, Records& out) {
  if (plan.column->key) out.set_key(plan.key, missing(value) ? 0 : hash_key(value, plan.seed));
  switch (plan.column->role) {
    case Role::ignore: return true;
    case Role::label: return use_label(plan, value, out);
    case Role::dense: return use_dense(plan, value, out);
    case Role::categorical: return use_categorical(plan, value, out);
    case Role::multi: return use_multi(plan, value, out);
  }
  throw InternalError("unknown Role");
}

bool LineParser::use_label(const Plan& plan, std::string_view value, Records& out) {
  const Column& column = *plan.column;
  if (missing(value)) return refuse(column, value, "there: it is the label");
  bool positive = false;
  if (column.positive_from) {
    double number = 0.0;
    if (whole(without_plus(value), number) != std::errc() || std::isnan(number)) {
      return refuse(column, value, "a number");
    }
    positive = number >= *column.positive_from;
  } else {
    positive = std::ranges::find(column.positive, value) != column.positive.end();
    const auto& negative = column.negative;
    if (!positive && !negative.empty() && std::ranges::find(negative, value) == negative.end()) {
      return refuse(column, value, "one of the values that the schema has for the label");
    }
  }
  out.set_label(positive ? 1.0f : 0.0f);
  return true;
}

bool LineParser::use_dense(const Plan& plan, std::string_view value, Records& out) {
  if (missing(value)) return true;  // keeps the initial 0
  const Column& column = *plan.column;
  double number = 0.0;
  if (column.integer) {
    std::int64_t integer = 0;
    const std::errc error = whole(without_plus(value), integer);
    if (error == std::errc::result_out_of_range)
      return refuse(column, value, "a whole number of 64 bits");
    if (error != std::errc()) return refuse(column, value, "a whole number");
    number = static_cast<double>(integer);
  } else if (whole(without_plus(value), number) != std::errc() || !std::isfinite(number)) {
    return refuse(column, value, "a number");
  }
  if (column.transform == Transform::log) number = log_of_one_and(std::max(0.0, number));
  if (std::abs(number) > kLargestDense) {
    return refuse(column, value,
                  "a number from -1e12 to 1e12, or the column's transform must be log");
  }
  out.set_dense(plan.place, static_cast<float>(number));
  return true;
}

bool LineParser::use_categorical(const Plan& plan, std::string_view value, Records& out) {
  if (missing(value)) return true;  // keeps the initial row 0
  std::uint32_t row = 0;
  if (!row_of(plan, value, row)) return false;
  out.set_id(plan.place, row);
  return true;
}

// Skips missing values between others; a field without any value counts as one missing value.
bool LineParser::use_multi(const Plan& plan, std::string_view value, Records& out) {
  bool any = false;
  const std::string_view separator = plan.column->separator;
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(separator, begin), value.size());
    std::string_view part = value.substr(begin, end - begin);
    begin = end + separator.size();
    if (schema_.trim) {
      part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
      part.remove_suffix(part.size() - (part.find_last_not_of(' ') + 1));
    }
    if (missing(part)) continue;
    std::uint32_t row = 0;
    if (!row_of(plan, part, row)) return false;
    out.add_value(plan.place, row);
    any = true;
  }
  if (!any) out.add_value(plan.place, 0);
  return true;
}

bool LineParser::row_of(const Plan& plan, std::string_view value, std::uint32_t& row) {
  std::uint64_t hash = 0;
  if (!hash_of(plan, value, hash)) return false;
  const Column& column = *plan.column;
  if (counts_ != nullptr) ++(*counts_)[plan.table][hash];
  if (column.vocabulary.empty()) {
    row = hashed_row(hash, column.rows);
    return true;
  }
  const auto found = std::ranges::lower_bound(column.vocabulary, hash);
  const bool known = found != column.vocabulary.end() && *found == hash;
  row = known ? kFirstVocabularyRow + static_cast<std::uint32_t>(found - column.vocabulary.begin())
              : kRareRow;
  return true;
}

bool LineParser::hash_of(const Plan& plan, std::string_view value, std::uint64_t& hash) {
  const Column& column = *plan.column;
  if (column.hexadecimal) {
    std::uint64_t number = 0;
    if (!parse_hexadecimal(value, number)) {
      return refuse(column, value, "at most 16 hexadecimal digits");
    }
    hash = hash_value(number, plan.seed);
  } else if (column.bucket > 0.0) {
    constexpr double kMost = 0x1p62;
    double number = 0.0;
    if (whole(without_plus(value), number) != std::errc()) return refuse(column, value, "a number");
    number = std::floor(number / column.bucket);
    if (!(std::abs(number) < kMost)) return refuse(column, value, "a number that has a bucket");
    const auto bucket = static_cast<std::int64_t>(number);
    hash = hash_value(static_cast<std::uint64_t>(bucket), plan.seed);
  } else {
    hash = hash_value(value, plan.seed);
  }
  return true;
}

bool LineParser::refuse(const Column& column, std::string_view value, std::string_view allowed) {
  why_ = column.name + " is " + shown(value) + "; it must be " + std::string(allowed);
  return false;
}

bool LineParser::is_listed(std::string_view value) const {
  return std::ranges::find(schema_.missing, value) != schema_.missing.end();
}

}  // namespace lazydp
