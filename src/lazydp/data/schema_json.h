#pragma once
// A schema for machines: what inspect prints and what a released model says about its inputs.

#include <string>

#include "lazydp/base/text/json.h"
#include "lazydp/data/schema.h"

namespace lazydp {

// The same keys as in the TOML of a schema file.
Json json_of(const Schema& schema);

// Whether rows and numbers of two data sets mean the same.

// What differs, with the column's name, between two schemas as json_of(Schema) writes them; empty
// if a model of `trained` can read `other`. Columns are compared that a model reads, in their
// order: names and everything that decides to which row or number a value goes.
std::string first_difference(const Json& trained, const Json& other);

}  // namespace lazydp
