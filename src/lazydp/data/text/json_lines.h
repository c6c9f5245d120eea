#pragma once
// JSON lines: a record is an object whose members are found by the names of the schema's columns.

#include "lazydp/data/schema.h"
#include "lazydp/data/text/example_parser.h"

namespace lazydp {

// Returns the format. A string or number means what it means as a field of separated text; true and
// false are these words, or the numbers 1 and 0; null, and a member that is not there, are missing;
// a list is a field of several values. Members that the schema does not name, or ignores, may be
// anything.
TextFormat json_lines();

}  // namespace lazydp
