#include "lazydp/cli/run/schema_difference.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace lazydp::cli {
namespace {

// Numbers first, then tables: the order in which a model has them.
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
  constexpr std::size_t kLong = 40;  // a vocabulary
  return text.size() <= kLong ? text : "another";
}

// The separator of several values is not compared: it is how the text was written.
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

}  // namespace lazydp::cli
