// A run of the native trainer for test_native.py to repeat: native_run ALGORITHM KEY writes its
// shape, its batches and its weights before and after as JSON. native_run release FOLDER releases a
// model and writes its scores of a few examples.

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "lazydp/train/release.h"
#include "tests/support/runs.h"

namespace lazydp::oracle {
namespace {

nlohmann::json json_of(const Batch& batch) {
  nlohmann::json dense = nlohmann::json::array();
  for (std::size_t i = 0; i < batch.size; ++i) {
    dense.push_back(std::vector<float>(batch.dense.row(i).begin(), batch.dense.row(i).end()));
  }
  nlohmann::json bags = nlohmann::json::array();
  for (const Bags& b : batch.bags) bags.push_back({{"ids", b.ids}, {"offsets", b.offsets}});
  return {{"dense", dense}, {"labels", batch.labels}, {"bags", bags}};
}

nlohmann::json run(const std::string& algorithm, std::uint64_t key) {
  Settings settings;
  settings.key = key;
  World world(settings.shape, key, settings.sampling_rate);
  const Plan plan = plan_of(algorithm, settings);
  nlohmann::json out = {{"rows", settings.shape.table_rows},
                        {"dim", settings.shape.dim},
                        {"bottom", settings.shape.bottom},
                        {"top", settings.shape.top},
                        {"sigma", settings.sigma},
                        {"clip", settings.clip},
                        {"expected_batch", plan.mechanism.expected_batch},
                        {"table_rate", plan.table_rate},
                        {"dense_rate", plan.dense_rate},
                        {"before", world.weights()},
                        {"batches", nlohmann::json::array()}};
  for (Step t = 1; t <= settings.steps; ++t) {
    std::vector<ExampleId> examples;
    world.sampler->draw(t, examples);
    Batch batch;
    world.data.read(examples, batch);
    out["batches"].push_back(json_of(batch));
  }
  out["after"] = train(algorithm, settings);
  return out;
}

// Trains, releases into `folder`, and tells what the released model thinks of some examples.
nlohmann::json release_run(const std::string& folder) {
  const Settings settings;
  World world(settings.shape, settings.key, settings.sampling_rate);
  Trainer trainer(plan_of("lazydp", settings), {}, world.seed, world.model, settings.shape.mode,
                  world.tables, world.data, *world.sampler);
  for (Step t = 1; t <= settings.steps; ++t) trainer.step();
  release(std::move(trainer), {.delta = 1e-5, .shape = settings.shape}).write(folder);
  const std::vector<ExampleId> some = {0, 3, 7, 20, 39};
  Batch batch;
  world.data.read(some, batch);
  nlohmann::json out = json_of(batch);
  const std::span<const float> logits = trainer.predict(batch);
  out["logits"] = std::vector<float>(logits.begin(), logits.end());
  return out;
}

}  // namespace
}  // namespace lazydp::oracle

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: native_run ALGORITHM KEY | native_run release FOLDER\n";
    return 2;
  }
  if (std::string(argv[1]) == "release") {
    std::cout << lazydp::oracle::release_run(argv[2]) << '\n';
    return 0;
  }
  std::cout << lazydp::oracle::run(argv[1], std::stoull(argv[2])) << '\n';
  return 0;
}
