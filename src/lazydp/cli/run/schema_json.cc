#include "lazydp/cli/run/schema_json.h"

#include <string>

#include "lazydp/data/schema_text.h"

namespace lazydp::cli {
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

}  // namespace lazydp::cli
