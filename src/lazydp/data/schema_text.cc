#include <array>

#include "lazydp/base/text/toml.h"
#include "lazydp/data/schema.h"

namespace lazydp {
namespace {

// Returns the shortest text that reads back as the same number, and that TOML takes for floating
// point.
std::string number_text(double value) {
  std::string text = exact_text(value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string list_text(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& value : values) out += (out.empty() ? "" : ", ") + toml_text(value);
  return "[" + out + "]";
}

// Returns sixteen digits for each value, concatenated: a million of them are one TOML value,
// quickly read.
std::string hexadecimal(const std::vector<std::uint64_t>& values) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(values.size() * 16);
  for (const std::uint64_t value : values) {
    for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[value >> shift & 15];
  }
  return out;
}

class Writer {
 public:
  void line(std::string_view key, const std::string& value) {
    text_ += std::string(key) + " = " + value + "\n";
  }
  void line(std::string_view key, bool value) { line(key, std::string(value ? "true" : "false")); }
  void table(std::string_view name) { text_ += "\n[[" + std::string(name) + "]]\n"; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void write_label(Writer& out, const Column& column) {
  if (column.positive_from) {
    out.line("positive_from", number_text(*column.positive_from));
  } else {
    out.line("positive", list_text(column.positive));
  }
  if (!column.negative.empty()) out.line("negative", list_text(column.negative));
}

void write_dense(Writer& out, const Column& column) {
  out.line("transform", toml_text(transform_name(column.transform)));
  if (column.integer) out.line("integer", true);
}

void write_table(Writer& out, const Column& column) {
  out.line("rows", std::to_string(column.rows));
  if (column.hexadecimal) out.line("hexadecimal", true);
  if (column.bucket > 0.0) out.line("bucket", number_text(column.bucket));
  if (column.role == Role::multi) out.line("separator", toml_text(column.separator));
  if (!column.vocabulary.empty()) out.line("vocabulary", toml_text(hexadecimal(column.vocabulary)));
}

}  // namespace

std::string_view role_name(Role role) {
  constexpr std::array<std::string_view, 5> kNames = {"ignore", "label", "dense", "categorical",
                                                      "multi"};
  return kNames[static_cast<std::size_t>(role)];
}

std::string_view transform_name(Transform transform) {
  return transform == Transform::log ? "log" : "none";
}

std::string schema_text(const Schema& schema) {
  Writer out;
  out.line("source", toml_text(schema.source));
  out.line("separator", toml_text(schema.separator));
  out.line("header", schema.header);
  out.line("quotes", schema.quotes);
  out.line("trim", schema.trim);
  out.line("missing", list_text(schema.missing));
  out.line("salt", toml_text(std::to_string(schema.salt)));
  if (!schema.from_data.empty()) out.line("from_data", toml_text(schema.from_data));
  for (const Column& column : schema.columns) {
    out.table("column");
    out.line("name", toml_text(column.name));
    out.line("role", toml_text(role_name(column.role)));
    if (column.key) out.line("key", true);
    if (column.role == Role::label) write_label(out, column);
    if (column.role == Role::dense) write_dense(out, column);
    if (column.role == Role::categorical || column.role == Role::multi) write_table(out, column);
  }
  return out.text();
}

}  // namespace lazydp
