#pragma once
// A schema as JSON, for `inspect` and released models, and the comparison of two schemas.

#include <string>

#include "lazydp/base/text/json.h"
#include "lazydp/data/schema.h"

namespace lazydp {

// Returns the schema under the same keys as in the TOML of a schema file.
Json json_of(const Schema& schema);

// Inverts json_of(Schema), for the schema on a model's card. Throws UserError for any other JSON.
Schema schema_from(const Json& json);

// Returns what differs, with the column's name, between two schemas as json_of(Schema) writes them;
// empty if a model of `trained` can read `other`. Compares the columns that a model reads, in their
// order: names and everything that decides to which row or number a value is mapped.
std::string first_difference(const Json& trained, const Json& other);

}  // namespace lazydp
