#pragma once
// A model, its tables, and the trainer of a run over them.

#include <cstdint>
#include <memory>
#include <vector>

#include "lazydp/apps/run_options.h"
#include "lazydp/apps/task.h"
#include "lazydp/data/sampler.h"
#include "lazydp/embedding/table.h"
#include "lazydp/model/dlrm.h"
#include "lazydp/random/seed.h"
#include "lazydp/train/trainer.h"

namespace lazydp::apps {

struct Session {
  explicit Session(const ModelShape& shape);                 // all zeros, for who fills it
  Session(const ModelShape& shape, const Seed& initialise);  // as training starts

  std::vector<Table> tables;
  Dlrm model;
};

std::unique_ptr<Sampler> make_sampler(Sampling sampling, const Seed& seed, std::uint64_t examples,
                                      double rate, std::uint64_t batch);

// Everything of one run that refers to each other.
struct Running {
  enum class Weights : std::uint8_t { initial, zero };

  Running(const RunOptions& options, const Dataset& data, const Seed& seed, Weights weights);

  Session session;
  std::unique_ptr<Sampler> sampler;
  Trainer trainer;
};

}  // namespace lazydp::apps
