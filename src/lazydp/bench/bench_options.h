#pragma once
// The options of a benchmark of interleaved steps: from flags for `bench steps`, from its
// experiments for `bench paper`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lazydp/data/training_data.h"
#include "lazydp/model/shape.h"
#include "lazydp/train/memory_needs.h"
#include "lazydp/train/plan.h"

namespace lazydp {

struct BenchOptions {
  std::vector<Recipe> contenders;
  ModelChoice model;
  DataSource task;
  Performance performance;
  std::optional<std::string> table_folder;  // folder of tables in files; none: in memory
  std::uint64_t batch = 0;
  Step rounds = 0;
  Step warmup = 3;  // rounds before those that are counted
  unsigned noise_draws = 1;
  std::optional<std::uint64_t> seed;

  // Returns the plan of one contender. The learning rate is so small that weights hardly change.
  Plan plan(const Recipe& recipe) const;
};

// Returns the memory that all contenders take together, including that for the steps by which rows
// are late.
MemoryNeeds memory_needs(const BenchOptions& bench);

}  // namespace lazydp
