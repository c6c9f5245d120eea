#pragma once
// A model, its tables, and the trainer of a run over them.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazydp/cli/options/run_options.h"
#include "lazydp/data/samplers.h"
#include "lazydp/data/training_data.h"
#include "lazydp/random/seed.h"
#include "lazydp/shard/comm_thread.h"
#include "lazydp/shard/layout.h"
#include "lazydp/shard/rank_exchange.h"
#include "lazydp/train/model_and_tables.h"
#include "lazydp/train/trainer.h"

namespace lazydp::cli {

// Decides which rank of a run holds which rows.
Layout layout_of(const RunOptions& options, int ranks);

// The parts of one run, which refer to each other; with several ranks, this rank's.
struct TrainingRun {
  enum class Weights : std::uint8_t { initial, zero };

  // `run` is its folder, if it has one. `rows_file` is where tables in files find the rows of an
  // initial model that they have not needed yet; empty: in the model itself.
  TrainingRun(const RunOptions& options, const Dataset& data, const Seed& seed, Weights weights,
              const std::optional<std::string>& run = {}, Communicator& ranks = alone(),
              const std::string& rows_file = "");

  Layout layout;
  ModelAndTables model_and_tables;
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<Sampler> part;     // this rank's share of what the sampler draws
  std::unique_ptr<Trainer> trainer;  // null once it is released
};

}  // namespace lazydp::cli
