#pragma once
// What a run will take of the machine's memory, known before any is taken.

#include <cstdint>
#include <span>

#include "lazydp/model/shape.h"
#include "lazydp/train/plan.h"

namespace lazydp {

// In bytes. Of floating point, so that no product of sizes overflows.
struct MemoryNeeds {
  double tables = 0.0;
  double history = 0.0;  // 4 bytes a row, for each algorithm that has one; and momenta
  double rest = 0.0;     // dense layers, activations, batches, the clock, the data

  double total() const { return tables + history + rest; }
};

// What decides how much an optimizer keeps beside the tables.
struct OptimizerKind {
  WeightDecay decay = WeightDecay::off;
  TableRule rule = TableRule::sgd;
};

// For trainers of `recipes` that share one model. `data` is what the data itself takes.
MemoryNeeds memory_needs(const ModelShape& shape, std::span<const Recipe> recipes,
                         const OptimizerKind& kind, const Performance& performance,
                         std::uint64_t batch, Step steps, double data);

// The same with tables in files: what is there may leave memory again, but where every row has its
// place is known in memory.
MemoryNeeds with_tables_in_files(MemoryNeeds needs, const ModelShape& shape);

// Throws UserError, with both numbers, unless `available` bytes are enough.
void require_memory(const MemoryNeeds& needs, std::uint64_t available);

}  // namespace lazydp
