#include "lazydp/data/schema_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/data/schema.h"

namespace lazydp {

namespace {

Json column_json(const Column& column) {
  Json json = {{"name", column.name}, {"role", role_name(column.role)}};
  if (column.key) json["key"] = true;
  switch (column.role) {
    case Role::ignore: break;
    case Role::label:
      if (column.positive_from) {
        json["positive_from"] = *column.positive_from;
      } else {
        json["positive"] = column.positive;
      }
      if (!column.negative.empty()) json["negative"] = column.negative;
      break;
    case Role::dense:
      json["transform"] = transform_name(column.transform);
      if (column.integer) json["integer"] = true;
      break;
    case Role::multi: json["separator"] = column.separator; [[fallthrough]];
    case Role::categorical:
      json["rows"] = column.rows;
      if (column.hexadecimal) json["hexadecimal"] = true;
      if (column.bucket > 0.0) json["bucket"] = column.bucket;
      if (!column.vocabulary.empty()) json["vocabulary"] = column.vocabulary;
      break;
  }
  return json;
}

}  // namespace

Json json_of(const Schema& schema) {
  Json columns = Json::array();
  for (const Column& column : schema.columns) columns.push_back(column_json(column));
  Json json = {{"source", schema.source},
               {"separator", schema.separator},
               {"header", schema.header},
               {"quotes", schema.quotes},
               {"trim", schema.trim},
               {"missing", schema.missing},
               {"salt", std::to_string(schema.salt)},
               {"column", columns}};
  if (!schema.from_data.empty()) json["from_data"] = schema.from_data;
  return json;
}

namespace {

template <class Value, std::size_t count>
Value named(const Json& json, const std::array<Value, count>& values,
            std::string_view (*name)(Value)) {
  const auto found = std::ranges::find(values, json.get<std::string>(), name);
  if (found == values.end()) throw UserError("there is no such thing as " + json.dump());
  return *found;
}

Column column_from(const Json& json) {
  constexpr std::array kRoles = {Role::ignore, Role::label, Role::dense, Role::categorical,
                                 Role::multi};
  constexpr std::array kTransforms = {Transform::none, Transform::log};
  Column column = {.name = json.at("name").get<std::string>(),
                   .role = named(json.at("role"), kRoles, role_name),
                   .key = json.value("key", false)};
  if (json.contains("positive_from")) column.positive_from = json["positive_from"].get<double>();
  column.positive = json.value("positive", column.positive);
  column.negative = json.value("negative", column.negative);
  if (json.contains("transform")) {
    column.transform = named(json["transform"], kTransforms, transform_name);
  }
  column.integer = json.value("integer", false);
  if (json.contains("rows")) column.rows = natural<std::uint64_t>(json["rows"]);
  column.hexadecimal = json.value("hexadecimal", false);
  column.bucket = json.value("bucket", 0.0);
  column.separator = json.value("separator", "");
  if (json.contains("vocabulary")) column.vocabulary = naturals<std::uint64_t>(json["vocabulary"]);
  return column;
}

}  // namespace

Schema schema_from(const Json& json) {
  Schema schema;
  try {
    schema.source = json.at("source").get<std::string>();
    schema.separator = json.at("separator").get<std::string>();
    schema.header = json.at("header").get<bool>();
    schema.quotes = json.at("quotes").get<bool>();
    schema.trim = json.at("trim").get<bool>();
    schema.missing = json.at("missing").get<std::vector<std::string>>();
    const auto salt = json.at("salt").get<std::string>();
    const char* const end = salt.data() + salt.size();
    const auto [stop, error] = std::from_chars(salt.data(), end, schema.salt);
    if (error != std::errc() || stop != end) throw UserError("its salt is '" + salt + "'");
    schema.from_data = json.value("from_data", "");
    for (const Json& column : json.at("column")) schema.columns.push_back(column_from(column));
    schema.validate();
  } catch (const Json::exception& error) {
    throw UserError(std::string("the schema cannot be read: ") + error.what());
  } catch (const UserError& error) {
    throw UserError(std::string("the schema cannot be read: ") + error.what());
  }
  return schema;
}

namespace {

// Returns dense columns first, then tables: the order in which a model reads them.
std::vector<Json> columns_read(const Json& schema) {
  std::vector<Json> columns;
  for (const bool dense : {true, false}) {
    for (const Json& column : schema.at("column")) {
      const Json& role = column.at("role");
      if (dense ? role == "dense" : role == "categorical" || role == "multi") {
        columns.push_back(column);
      }
    }
  }
  return columns;
}

std::string name_of(const Json& column) {
  return column.at("name").get<std::string>();
}

std::string text_of(const Json& column, const char* key) {
  if (!column.contains(key)) return "nothing";
  const std::string text = column[key].dump();
  constexpr std::size_t kLong = 40;  // shortens a vocabulary
  return text.size() <= kLong ? text : "another";
}

// The separator of several values is not compared: it only describes how the text was written.
constexpr std::array kMeaning = {"role",        "rows",   "transform",
                                 "hexadecimal", "bucket", "vocabulary"};

}  // namespace

std::string first_difference(const Json& trained, const Json& other) {
  const std::vector<Json> wanted = columns_read(trained);
  const std::vector<Json> there = columns_read(other);
  for (std::size_t i = 0; i < std::max(wanted.size(), there.size()); ++i) {
    if (i >= there.size()) return "it has no column '" + name_of(wanted[i]) + "'";
    if (i >= wanted.size()) {
      return "it has a column '" + name_of(there[i]) + "' that the other has not";
    }
    if (name_of(wanted[i]) != name_of(there[i])) {
      return "column '" + name_of(there[i]) + "' stands where column '" + name_of(wanted[i]) +
             "' is expected";
    }
    for (const char* key : kMeaning) {
      if (wanted[i].value(key, Json()) == there[i].value(key, Json())) continue;
      return "column '" + name_of(there[i]) + "' differs: " + key + " is " +
             text_of(there[i], key) + ", expected " + text_of(wanted[i], key);
    }
  }
  if (trained.value("salt", Json()) != other.value("salt", Json())) {
    return "the salts of their hashes differ";
  }
  return "";
}

}  // namespace lazydp
