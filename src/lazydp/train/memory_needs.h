#pragma once
// Estimates a run's memory before any is allocated.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lazydp/model/shape.h"
#include "lazydp/train/plan.h"

namespace lazydp {

// Bytes, in floating point, so that no product of sizes overflows.
struct MemoryNeeds {
  double tables = 0.0;
  double history = 0.0;  // 4 bytes a row for each algorithm that has a history; and momenta
  double rest = 0.0;     // dense layers, activations, batches, the clock, the data

  double total() const { return tables + history + rest; }
};

// The choices that decide how much memory an optimizer needs besides the tables.
struct OptimizerKind {
  WeightDecay decay = WeightDecay::off;
  TableRule rule = TableRule::sgd;
  std::vector<std::size_t> frozen_tables = {};  // ascending; these need nothing
};

// Estimates the memory of trainers of `recipes` that share one model. `data` is the memory of the
// data itself.
MemoryNeeds memory_needs(const ModelShape& shape, std::span<const Recipe> recipes,
                         const OptimizerKind& kind, const Performance& performance,
                         std::uint64_t batch, Step steps, double data);

// Adjusts the needs for tables in files: pages of the files may leave memory again, but the slot of
// every row is held in memory.
MemoryNeeds with_tables_in_files(MemoryNeeds needs, const ModelShape& shape);

// Throws UserError, with both numbers, unless `available` bytes are enough.
void require_memory(const MemoryNeeds& needs, std::uint64_t available);

}  // namespace lazydp
