#pragma once
// A model and its tables, freshly initialised.

#include <memory>
#include <vector>

#include "lazydp/apps/run_options.h"
#include "lazydp/data/sampler.h"
#include "lazydp/embedding/table.h"
#include "lazydp/model/dlrm.h"
#include "lazydp/random/seed.h"

namespace lazydp::apps {

struct Session {
  Session(const ModelShape& shape, const Seed& seed);

  std::vector<Table> tables;
  Dlrm model;
};

std::unique_ptr<Sampler> make_sampler(Sampling sampling, const Seed& seed, std::uint64_t examples,
                                      double rate, std::uint64_t batch);

}  // namespace lazydp::apps
