#pragma once
// A model, its tables, and the trainer of a run over them.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazydp/apps/run_options.h"
#include "lazydp/apps/task.h"
#include "lazydp/data/sampler.h"
#include "lazydp/embedding/table.h"
#include "lazydp/embedding/table_files.h"
#include "lazydp/model/dlrm.h"
#include "lazydp/random/seed.h"
#include "lazydp/train/trainer.h"

namespace lazydp::apps {

// Where tables that are in files have their folder, and whose they are.
struct TableFolder {
  std::string path;
  std::optional<std::string> run;  // the folder of the run that finds them again; none: nobody does
};

struct Session {
  explicit Session(const ModelShape& shape);                 // all zeros, for who fills it
  Session(const ModelShape& shape, const Seed& initialise);  // as training starts
  Session(const ModelShape& shape, const TableFolder& folder);

  void initialise(const Seed& seed);  // as training starts

  std::unique_ptr<TableFiles> files;  // null: the tables are in memory
  std::vector<Table> in_memory;
  std::span<Table> tables;
  Dlrm model;
};

std::unique_ptr<Sampler> make_sampler(Sampling sampling, const Seed& seed, std::uint64_t examples,
                                      double rate, std::uint64_t batch);

// Everything of one run that refers to each other.
struct Running {
  enum class Weights : std::uint8_t { initial, zero };

  // `run` is its folder, if it has one.
  Running(const RunOptions& options, const Dataset& data, const Seed& seed, Weights weights,
          const std::optional<std::string>& run = {});

  Session session;
  std::unique_ptr<Sampler> sampler;
  Trainer trainer;
};

}  // namespace lazydp::apps
