#pragma once
// Estimates a run's disk space before any is used.

#include <string>

#include "lazydp/cli/options/run_options.h"
#include "lazydp/cli/run/persistent_run.h"

namespace lazydp::cli {

// Upper bounds, in bytes.
struct DiskNeeds {
  double tables = 0.0;  // in files: rows that will be read, and their copies between checkpoints
  double checkpoints = 0.0;  // without rows if those are in files
  double model = 0.0;        // the released model
};

DiskNeeds disk_needs(const RunOptions& options, const SaveOptions& keeping, bool kept);

// Throws UserError, with both numbers, unless there is room in the tables' folder and in `out`, the
// folder of the run (empty: it has none).
void require_disk_for(const RunOptions& options, const SaveOptions& keeping,
                      const std::string& out);

}  // namespace lazydp::cli
