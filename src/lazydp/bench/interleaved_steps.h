#pragma once
// Interleaved steps of several algorithms, in one process, on the same weights.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lazydp/bench/step_times.h"
#include "lazydp/data/samplers.h"
#include "lazydp/data/training_data.h"
#include "lazydp/model/shape.h"
#include "lazydp/random/seed.h"
#include "lazydp/report/progress.h"
#include "lazydp/train/memory_needs.h"
#include "lazydp/train/model_and_tables.h"
#include "lazydp/train/plan.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// The options of a benchmark of interleaved steps: from flags for `bench steps`, from its
// experiments for `bench paper`.

struct BenchOptions {
  std::vector<Recipe> contenders;
  ModelChoice model;
  DataSource task;
  Performance performance;
  std::optional<std::string> table_folder;  // folder of tables in files; none: in memory
  std::uint64_t batch = 0;
  Step rounds = 0;
  Step warmup = 3;  // rounds before those that are counted
  // Above 0: each contender is timed twice, with single examples and with as many in made-up units
  // of this size.
  std::uint64_t examples_per_unit = 0;
  // Not independent: each contender whose noise can be is timed with correlated noise, too.
  Correlation correlation = {};
  unsigned normals_per_sample = 1;
  std::optional<std::uint64_t> seed;

  // Returns the plan of one contender. The learning rate is so small that weights hardly change.
  Plan plan(const Recipe& recipe) const;
};

// A contender is an algorithm, perhaps with units or with correlated noise.
struct Entry {
  Recipe recipe;
  std::uint64_t examples_per_unit = 1;
  Correlation correlation = {};

  std::string name() const;
};

// Returns the contenders that the options ask for.
std::vector<Entry> entries_of(const BenchOptions& options);

// Returns the memory that all contenders take together, including that for the steps by which rows
// are late.
MemoryNeeds memory_needs(const BenchOptions& bench);

// One algorithm whose steps are timed beside those of others.
struct Contender {
  std::unique_ptr<Sampler> examples;
  std::unique_ptr<Sampler> sampler;  // these, perhaps as units
  std::unique_ptr<Trainer> trainer;
  // Mean lateness, in steps, of the rows that a step reads; NaN if rows are never late.
  double lateness = std::numeric_limits<double>::quiet_NaN();
};

// Makes a contender with a clock, a history and batches of its own; it shares the weights of
// model_and_tables with the others, and its rows are as late as in a long run. `number`
// distinguishes contenders.
Contender make_contender(const BenchOptions& options, const TrainingData& task, const Entry& entry,
                         const Seed& seed, std::uint64_t number, ModelAndTables& model_and_tables);

// Cost of all counted steps of one contender.
struct Spent {
  double wall_seconds = 0.0;           // by a stopwatch that is independent of the stages
  double cpu_seconds = 0.0;            // summed over all threads
  std::optional<double> joules = 0.0;  // used by the whole machine; none if it does not count them

  Spent& operator+=(const Spent& more) {
    wall_seconds += more.wall_seconds;
    cpu_seconds += more.cpu_seconds;
    joules = joules && more.joules ? std::optional(*joules + *more.joules) : std::nullopt;
    return *this;
  }
};

struct Measured {
  Entry entry;
  StepTimes times;
  Spent spent;
  std::size_t history_bytes = 0;
  // Mean lateness, in steps, of the rows that a step reads when the rounds begin; NaN if rows are
  // never late.
  double lateness = std::numeric_limits<double>::quiet_NaN();

  const Recipe& recipe() const { return entry.recipe; }
  std::string name() const { return entry.name(); }
};

// Times steps in rounds. A round is one step of each contender, in an order that changes from round
// to round; the first rounds warm up and are not counted. Every contender has a clock, a history
// and batches of its own.
std::vector<Measured> interleave(const BenchOptions& options, const TrainingData& task,
                                 Progress& progress);

}  // namespace lazydp
