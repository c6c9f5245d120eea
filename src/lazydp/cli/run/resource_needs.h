#pragma once
// What a run will take of the disk, known before any is taken.

#include <cstdint>
#include <span>
#include <string>

#include "lazydp/cli/run/persistent_run.h"
#include "lazydp/cli/run/run_options.h"
#include "lazydp/model/shape.h"
#include "lazydp/train/plan.h"

namespace lazydp::cli {

// What a run will take of the machine's memory, known before any is taken.

// In bytes. Of floating point, so that no product of sizes overflows.
struct MemoryNeeds {
  double tables = 0.0;
  double history = 0.0;  // 4 bytes a row, for each algorithm that has one
  double rest = 0.0;     // dense layers, activations, batches, the clock, the data

  double total() const { return tables + history + rest; }
};

// For trainers of `recipes` that share one model. `data` is what the data itself takes.
MemoryNeeds memory_needs(const ModelShape& shape, std::span<const Recipe> recipes,
                         double weight_decay, const Performance& performance, std::uint64_t batch,
                         Step steps, double data);

// The same with tables in files: what is there may leave memory again, but where every row has its
// place is known in memory.
MemoryNeeds with_tables_in_files(MemoryNeeds needs, const ModelShape& shape);

// Throws UserError, with both numbers, unless `available` bytes are enough.
void require_memory(const MemoryNeeds& needs, std::uint64_t available);

// In bytes, at most.
struct DiskNeeds {
  double tables = 0.0;  // in files: rows that will be read, and their copies between checkpoints
  double checkpoints = 0.0;  // without rows if those are in files
  double model = 0.0;        // what is released
};

DiskNeeds disk_needs(const RunOptions& options, const Keeping& keeping, bool kept);

// Throws UserError, with both numbers, unless there is room in the tables' folder and in `out`, the
// folder of the run (empty: it has none).
void require_disk_for(const RunOptions& options, const Keeping& keeping, const std::string& out);

}  // namespace lazydp::cli
