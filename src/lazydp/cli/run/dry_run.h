#pragma once
// Reports what a run would claim, and which memory, disk space and time it would need, without
// training.

#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/output.h"

namespace lazydp::cli {

// Reads no data. The time is measured on a few steps on made-up look-ups in tables of at most a
// gigabyte, which are thrown away; the time of eager noise grows with the tables and is scaled up.
void dry_run(const RunOptions& options, const Output& output);

}  // namespace lazydp::cli
