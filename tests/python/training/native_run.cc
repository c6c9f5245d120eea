// A run of the native trainer for test_native.py to repeat: native_run ALGORITHM KEY RULE (of
// the dense weights) writes its shape, its batches, its losses and its weights before and after as
// JSON. native_run timed ALGORITHM does so with bags of one length and no noise, for
// benchmarks/pytorch/check.py. native_run release FOLDER releases a model and writes its scores of
// a few examples.

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "lazydp/data/synthetic/synthetic.h"
#include "lazydp/release/release.h"
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

// Batches, losses and weights of a run over `data`, which takes the place of the world's own.
nlohmann::json run(const Plan& plan, World& world, const Dataset& data) {
  const ModelShape& shape = world.shape;
  nlohmann::json out = {
      {"rows", shape.table_rows},         {"dim", shape.dim},
      {"bottom", shape.bottom},           {"top", shape.top},
      {"pooling", shape.pooling},         {"sigma", plan.mechanism.noise_multiplier},
      {"clip", plan.mechanism.clip_norm}, {"expected_batch", plan.mechanism.expected_batch},
      {"table_rate", plan.table_rate},    {"dense_rate", plan.dense_rate},
      {"before", world.weights()},        {"batches", nlohmann::json::array()},
      {"losses", nlohmann::json::array()}};
  Trainer trainer(plan, {}, world.seed, world.model, shape.mode, world.tables, data,
                  *world.sampler);
  for (Step t = 1; t <= plan.steps; ++t) {
    Sample sample;
    world.sampler->draw(t, sample);
    Batch batch;
    read_sample(data, sample, batch);
    out["batches"].push_back(json_of(batch));
    out["losses"].push_back(trainer.step().mean_loss);  // of an empty batch: null
  }
  trainer.settle_all();
  out["after"] = world.weights();
  return out;
}

nlohmann::json awkward_run(const std::string& algorithm, std::uint64_t key,
                           const std::string& rule) {
  Settings settings;
  settings.key = key;
  for (const auto& [name, known] : kDenseRules) {
    if (name == rule) settings.dense_rule = known;
  }
  if (rule == "adam" || rule == "adagrad") settings.dense_rate = 0.02;
  World world(settings.shape, key, settings.sampling_rate);
  return run(plan_of(algorithm, settings), world, world.data);
}

// Look-ups as `lazydp bench steps` times them, and no noise.
nlohmann::json timed_run(const std::string& algorithm) {
  Settings settings;
  settings.shape = small_shape({3, 40, 200});
  settings.shape.pooling = 4;
  settings.sigma = 0.0;
  settings.sampling_rate = 0.3;
  World world(settings.shape, settings.key, settings.sampling_rate);
  const auto data = make_timing_dataset({.examples = world.data.size(),
                                         .dense_features = settings.shape.dense_features(),
                                         .table_rows = settings.shape.table_rows,
                                         .pooling = settings.shape.pooling},
                                        AccessLaw{});
  Plan plan = plan_of(algorithm, settings);
  plan.dense_rate = plan.table_rate;
  return run(plan, world, *data);
}

// Trains, releases into `folder`, and tells what the released model thinks of some examples.
nlohmann::json release_run(const std::string& folder) {
  const Settings settings;
  World world(settings.shape, settings.key, settings.sampling_rate);
  auto trainer =
      std::make_unique<Trainer>(plan_of("lazydp", settings), Performance{}, world.seed, world.model,
                                settings.shape.mode, world.tables, world.data, *world.sampler);
  for (Step t = 1; t <= settings.steps; ++t) trainer->step();
  trainer->settle_all();
  const std::vector<ExampleId> some = {0, 3, 7, 20, 39};
  Batch batch;
  world.data.read(some, batch);
  nlohmann::json out = json_of(batch);
  const std::span<const float> logits = trainer->predict(batch);
  out["logits"] = std::vector<float>(logits.begin(), logits.end());
  release(std::move(trainer), {.delta = 1e-5, .shape = settings.shape}).write(folder);
  return out;
}

}  // namespace
}  // namespace lazydp::oracle

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::cerr
        << "usage: native_run ALGORITHM KEY RULE | native_run timed ALGORITHM | native_run release "
           "FOLDER\n";
    return 2;
  }
  if (std::string(argv[1]) == "release") {
    std::cout << lazydp::oracle::release_run(argv[2]) << '\n';
    return 0;
  }
  if (std::string(argv[1]) == "timed") {
    std::cout << lazydp::oracle::timed_run(argv[2]) << '\n';
    return 0;
  }
  const char* rule = argc == 4 ? argv[3] : "sgd";
  std::cout << lazydp::oracle::awkward_run(argv[1], std::stoull(argv[2]), rule) << '\n';
  return 0;
}
