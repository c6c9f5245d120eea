#pragma once
// What a run will take of the disk, known before any is taken.

#include <string>

#include "lazydp/cli/run/persistent_run.h"
#include "lazydp/cli/run/run_options.h"

namespace lazydp::cli {

// In bytes, at most.
struct DiskNeeds {
  double tables = 0.0;  // in files: rows that will be read, and their copies between checkpoints
  double checkpoints = 0.0;  // without rows if those are in files
  double model = 0.0;        // what is released
};

DiskNeeds disk_needs(const RunOptions& options, const SaveOptions& keeping, bool kept);

// Throws UserError, with both numbers, unless there is room in the tables' folder and in `out`, the
// folder of the run (empty: it has none).
void require_disk_for(const RunOptions& options, const SaveOptions& keeping,
                      const std::string& out);

}  // namespace lazydp::cli
