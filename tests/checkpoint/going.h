#pragma once
// Runs that are kept in a folder and continue from there.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lazydp/checkpoint/checkpoint_folder.h"
#include "tests/support/runs.h"

namespace lazydp::oracle {

inline std::vector<std::string> names(const std::string& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    found.push_back(entry.path().filename().string());
  }
  std::ranges::sort(found);
  return found;
}

// A world and a trainer in it, as a run starts or continues.
struct Going : World {
  std::unique_ptr<Sampler> batches;
  std::unique_ptr<Trainer> owner;  // until it is released
  Trainer& trainer = *owner;

  Going(const Settings& s, std::string_view algorithm, const Seed& seed_of_run)
      : World(s.shape, s.key, s.sampling_rate),
        batches(sampler_of(s, seed_of_run)),
        owner(std::make_unique<Trainer>(plan_of(algorithm, s), Performance{.settle_ahead = s.ahead},
                                        seed_of_run, model, s.shape.mode, tables, data, *batches)) {
  }

  void steps_through(Step last) {
    while (trainer.now() < last) trainer.step();
  }
};

}  // namespace lazydp::oracle
