#pragma once
// A schema for machines: what inspect prints and what a released model says about its inputs.

#include "lazydp/cli/run/run_json.h"
#include "lazydp/data/schema.h"

namespace lazydp::cli {

// The same keys as in the TOML of a schema file.
Json json_of(const Schema& schema);

}  // namespace lazydp::cli
