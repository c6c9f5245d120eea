#pragma once
// What a run would claim, need and take, without training.

#include "lazydp/cli/output.h"
#include "lazydp/cli/run/run_options.h"

namespace lazydp::cli {

// Reads no data. The time comes from a few steps on made-up look-ups in tables of at most a
// gigabyte, thrown away; what eager noise takes grows with the tables and is scaled up.
void dry_run(const RunOptions& options, const Output& output);

}  // namespace lazydp::cli
