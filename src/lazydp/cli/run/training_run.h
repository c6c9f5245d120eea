#pragma once
// A model, its tables, and the trainer of a run over them.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lazydp/cli/run/run_options.h"
#include "lazydp/cli/run/training_data.h"
#include "lazydp/data/samplers.h"
#include "lazydp/embedding/storage/table_files.h"
#include "lazydp/embedding/table.h"
#include "lazydp/model/dlrm.h"
#include "lazydp/random/seed.h"
#include "lazydp/shard/comm_thread.h"
#include "lazydp/shard/layout.h"
#include "lazydp/shard/rank_exchange.h"
#include "lazydp/shard/sharded_sampler.h"
#include "lazydp/train/trainer.h"

namespace lazydp::cli {

// Where tables that are in files have their folder, and whose they are.
struct TableFolder {
  std::string path;
  std::optional<std::string> run;  // the folder of the run that finds them again; none: nobody does
};

struct Session {
  explicit Session(const ModelShape& shape);                    // all zeros, for who fills it
  Session(const ModelShape& shape, const Seed& initialise);     // as training starts
  Session(const ModelShape& shape, const TableFolder& folder);  // in files, for who fills them
  Session(const ModelShape& shape, std::vector<Table> some);    // with tables made elsewhere

  void initialise(const Seed& seed);  // as training starts

  std::unique_ptr<TableFiles> files;  // null: the tables are in memory
  std::vector<Table> in_memory;
  std::span<Table> tables;
  Dlrm model;
};

std::unique_ptr<Sampler> make_sampler(Sampling sampling, const Seed& seed, std::uint64_t examples,
                                      double rate, std::uint64_t batch);

// What a rank of several has beside its tables.
struct RankPart {
  RankPart(Communicator& ranks, const Layout& rows, std::span<Table> tables, Pooling pooling,
           const Sampler& whole)
      : courier(ranks),
        exchange(courier, rows, tables, pooling),
        sampler(make_part_of_sample(whole, ranks.rank(), ranks.size())) {}

  Courier courier;
  RankExchange exchange;
  std::unique_ptr<Sampler> sampler;
};

// Which rank of a run holds what.
Layout layout_of(const RunOptions& options, int ranks);

// Everything of one run that refers to each other; of several ranks, this one's part.
struct Running {
  enum class Weights : std::uint8_t { initial, zero };

  // `run` is its folder, if it has one.
  Running(const RunOptions& options, const Dataset& data, const Seed& seed, Weights weights,
          const std::optional<std::string>& run = {}, Communicator& ranks = alone());

  Layout layout;
  Session session;
  std::unique_ptr<Sampler> sampler;
  std::unique_ptr<RankPart> part;  // null: there are no other ranks
  Trainer trainer;
};

}  // namespace lazydp::cli
