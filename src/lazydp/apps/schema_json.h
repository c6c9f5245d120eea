#pragma once
// A schema for machines: what inspect prints and what a released model says about its inputs.

#include "lazydp/apps/run_json.h"
#include "lazydp/data/schema.h"

namespace lazydp::apps {

// The same keys as in the TOML of a schema file.
Json json_of(const Schema& schema);

}  // namespace lazydp::apps
