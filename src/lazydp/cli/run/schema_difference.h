#pragma once
// Whether rows and numbers of two data sets mean the same.

#include <string>

#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

// What differs, with the column's name, between two schemas as json_of(Schema) writes them; empty
// if a model of `trained` can read `other`. Columns are compared that a model reads, in their
// order: names and everything that decides to which row or number a value goes.
std::string first_difference(const Json& trained, const Json& other);

}  // namespace lazydp::cli
