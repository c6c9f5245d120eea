#pragma once
// What to measure of steps taken in turn, decided: for `bench steps` by flags, for `bench paper` by
// its experiments.

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
  std::optional<std::string> table_folder;  // where tables are in files; none: in memory
  std::uint64_t batch = 0;
  Step rounds = 0;
  Step warmup = 3;  // rounds before those that count
  unsigned noise_draws = 1;
  std::optional<std::uint64_t> seed;

  // Of one contender. The learning rate is so small that weights stay what they were.
  Plan plan(const Recipe& recipe) const;
};

// What all contenders together take of memory, the steps that rows have waited for among it.
MemoryNeeds memory_needs(const BenchOptions& bench);

}  // namespace lazydp
