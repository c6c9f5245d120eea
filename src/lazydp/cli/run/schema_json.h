#pragma once
// A schema for machines: what inspect prints and what a released model says about its inputs.

#include <string>

#include "lazydp/cli/run/report.h"
#include "lazydp/cli/run/training_data.h"
#include "lazydp/data/schema.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

// The same keys as in the TOML of a schema file.
Json json_of(const Schema& schema);

// Whether rows and numbers of two data sets mean the same.

// What differs, with the column's name, between two schemas as json_of(Schema) writes them; empty
// if a model of `trained` can read `other`. Columns are compared that a model reads, in their
// order: names and everything that decides to which row or number a value goes.
std::string first_difference(const Json& trained, const Json& other);

// What is said of the data: on a released model's card, and to tell whether a run goes on with its
// own.

// Public: its name, its size, what was protected, and the schema that new data needs.
Json card_of_data(const TaskChoice& task);

// Equal for equal data, split and protected in the same way, wherever the file lies.
Json identity_of_data(const TaskChoice& task);

}  // namespace lazydp::cli
