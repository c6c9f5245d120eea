#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "lazydp/base/error.h"
#include "lazydp/base/text/toml.h"
#include "lazydp/data/schema.h"

namespace lazydp {
namespace {

// One table of the file, whose keys are taken one by one; a key that is left at the end is unknown,
// and an error.
class Keys {
 public:
  Keys(const toml::table& table, std::string where) : table_(table), where_(std::move(where)) {}

  void take(std::string_view key, std::string& out) { take_as<std::string>(key, out, "text"); }
  void take(std::string_view key, bool& out) { take_as<bool>(key, out, "true or false"); }
  void take(std::string_view key, double& out) { take_as<double>(key, out, "a number"); }
  void take(std::string_view key, std::optional<double>& out) {
    double value = 0.0;
    if (table_.get(key) == nullptr) return;
    take(key, value);
    out = value;
  }
  void take(std::string_view key, std::uint64_t& out) {
    std::int64_t value = 0;
    if (table_.get(key) == nullptr) return;
    take_as<std::int64_t>(key, value, "a whole number");
    if (value < 0) refuse(key, "a whole number, 0 or above");
    out = static_cast<std::uint64_t>(value);
  }
  // Takes a list of texts, or one text for a list of one.
  void take(std::string_view key, std::vector<std::string>& out) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    if (const auto* one = node->as_string()) {
      out = {one->get()};
      return;
    }
    const toml::array* list = node->as_array();
    if (list == nullptr) refuse(key, "text or a list of texts");
    out.clear();
    for (const toml::node& element : *list) {
      const auto* text = element.as_string();
      if (text == nullptr) refuse(key, "text or a list of texts");
      out.push_back(text->get());
    }
  }
  // A salt has 64 unsigned bits, more than a whole number of TOML, so it may be text.
  void take_salt(std::uint64_t& out) {
    const toml::node* node = table_.get("salt");
    if (node == nullptr || node->is_integer()) return take("salt", out);
    std::string text;
    take("salt", text);
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, out);
    if (error != std::errc() || stop != end) refuse("salt", "a whole number below 2^64");
  }

  // Takes concatenated numbers of sixteen hexadecimal digits each.
  void take_hexadecimal(std::string_view key, std::vector<std::uint64_t>& out) {
    constexpr std::size_t kDigits = 16;
    std::string text;
    take(key, text);
    for (std::size_t i = 0; i < text.size(); i += kDigits) {
      const char* end = text.data() + std::min(text.size(), i + kDigits);
      const auto [stop, error] = std::from_chars(text.data() + i, end, out.emplace_back(), 16);
      if (error != std::errc() || stop != text.data() + i + kDigits) {
        refuse(key, "what lazydp convert wrote");
      }
    }
  }

  const toml::array* take_tables(std::string_view key) {
    const toml::node* node = find(key);
    if (node == nullptr) return nullptr;
    if (!node->is_array_of_tables()) refuse(key, "written [[" + std::string(key) + "]]");
    return node->as_array();
  }

  void expect_no_more() const {
    for (const auto& [key, value] : table_) {
      if (std::ranges::find(taken_, key.str()) == taken_.end()) {
        throw UserError(where_ + " has '" + std::string(key.str()) +
                        "', which means nothing here; allowed: " + joined());
      }
    }
  }

  [[noreturn]] void refuse(std::string_view key, const std::string& allowed) const {
    throw UserError(where_ + ": " + std::string(key) + " must be " + allowed);
  }

 private:
  const toml::node* find(std::string_view key) {
    taken_.emplace_back(key);
    return table_.get(key);
  }
  template <class Value>
  void take_as(std::string_view key, Value& out, const char* allowed) {
    const toml::node* node = find(key);
    if (node == nullptr) return;
    const std::optional<Value> value = node->value_exact<Value>();
    const bool whole_for_real = std::is_same_v<Value, double> && node->is_integer();
    if (!value && !whole_for_real) refuse(key, allowed);
    out = value ? *value : node->value_or(Value{});
  }
  std::string joined() const {
    std::string names;
    for (const std::string& name : taken_) names += (names.empty() ? "" : ", ") + name;
    return names;
  }

  const toml::table& table_;
  std::string where_;
  std::vector<std::string> taken_;
};

template <class Value>
Value named(const Keys& keys, std::string_view key, const std::string& text,
            std::span<const Value> values, std::string_view (*name)(Value)) {
  std::string allowed;
  for (const Value value : values) {
    if (name(value) == text) return value;
    allowed += (allowed.empty() ? "" : ", ") + std::string(name(value));
  }
  keys.refuse(key, "one of " + allowed + ", not '" + text + "'");
}

Column parse_column(const toml::table& table, const std::string& where) {
  constexpr std::array kRoles = {Role::ignore, Role::label, Role::dense, Role::categorical,
                                 Role::multi};
  constexpr std::array kTransforms = {Transform::none, Transform::log};
  Column column;
  Keys name_only(table, where);
  name_only.take("name", column.name);

  Keys keys(table, where + ", column '" + column.name + "'");
  keys.take("name", column.name);
  std::string role = "ignore";
  keys.take("role", role);
  column.role = named<Role>(keys, "role", role, kRoles, role_name);
  keys.take("key", column.key);
  if (column.role == Role::label) {
    keys.take("positive", column.positive);
    keys.take("positive_from", column.positive_from);
    keys.take("negative", column.negative);
  }
  if (column.role == Role::dense) {
    std::string transform(transform_name(column.transform));
    keys.take("transform", transform);
    column.transform = named<Transform>(keys, "transform", transform, kTransforms, transform_name);
    keys.take("integer", column.integer);
  }
  if (column.role == Role::categorical || column.role == Role::multi) {
    keys.take("rows", column.rows);
    keys.take("hexadecimal", column.hexadecimal);
    if (column.role == Role::categorical) keys.take("bucket", column.bucket);
    if (column.role == Role::multi) keys.take("separator", column.separator);
    keys.take_hexadecimal("vocabulary", column.vocabulary);
  }
  keys.expect_no_more();
  return column;
}

}  // namespace

Schema parse_schema(std::string_view text, const std::string& name) {
  const toml::table table = parse_toml(text, name);
  Schema schema;
  Keys keys(table, name);
  keys.take("source", schema.source);
  keys.take("separator", schema.separator);
  keys.take("header", schema.header);
  keys.take("quotes", schema.quotes);
  keys.take("trim", schema.trim);
  keys.take("missing", schema.missing);
  keys.take_salt(schema.salt);
  keys.take("from_data", schema.from_data);
  if (const toml::array* columns = keys.take_tables("column")) {
    for (const toml::node& column : *columns) {
      schema.columns.push_back(parse_column(*column.as_table(), name));
    }
  }
  keys.expect_no_more();
  try {
    schema.validate();
  } catch (const UserError& error) {
    throw UserError(name + ": " + error.what());
  }
  return schema;
}

}  // namespace lazydp
