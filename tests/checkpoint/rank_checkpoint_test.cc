// Checkpoints and releases of several ranks, continued by other numbers of ranks.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lazydp/base/error.h"
#include "lazydp/checkpoint/checkpoint_folder.h"
#include "lazydp/export/safetensors.h"
#include "lazydp/release/release.h"
#include "lazydp/shard/launch.h"
#include "tests/support/ranks.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

using oracle::plan_of;
using oracle::RankWorld;
using oracle::Settings;

constexpr RowId kSmall = 6;

struct Going : RankWorld {
  std::unique_ptr<Trainer> owner;  // until it is released
  Trainer& trainer = *owner;

  Going(Communicator& all, const Settings& s, std::string_view algorithm)
      : RankWorld(all, s, kSmall),
        owner(std::make_unique<Trainer>(plan_of(algorithm, s), Performance{.settle_ahead = s.ahead},
                                        whole.seed, whole.model, s.shape.mode, tables, whole.data,
                                        *sampler, TableStorage::memory(), exchange())) {}

  void steps_through(Step last) {
    while (trainer.now() < last) trainer.step();
  }
};

std::vector<std::string> names(const std::string& folder, const std::string& with) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.find(with) != std::string::npos) found.push_back(name);
  }
  return found;
}

// Ranks open a folder one after the other, as the program's do.
void open_in_turn(Communicator& ranks, const std::function<void()>& open) {
  for (int p = 0; p < ranks.size(); ++p) {
    if (p == ranks.rank()) open();
    ranks.barrier();
  }
}

void train_and_save(int ranks, const Settings& s, std::string_view algorithm,
                    const std::string& path, std::span<const Step> at) {
  run_as_ranks(ranks, [&](Communicator& here) {
    std::optional<CheckpointFolder> folder;
    open_in_turn(here, [&] { folder.emplace(path, Json{{"a", 1}}, std::nullopt); });
    Going going(here, s, algorithm);
    for (const Step step : at) {
      going.steps_through(step);
      folder->save(going.trainer);
    }
  });
}

void go_on(int ranks, const Settings& s, std::string_view algorithm, const std::string& path,
           const std::vector<float>& expected) {
  run_as_ranks(ranks, [&](Communicator& here) {
    std::optional<CheckpointFolder> folder;
    open_in_turn(here, [&] { folder.emplace(path, Json{{"a", 1}}, std::nullopt); });
    const auto checkpoint = folder->open();
    EXPECT_EQ(checkpoint->head().step, 7u);
    Going going(here, s, algorithm);
    folder->restore(*checkpoint, going.trainer);
    going.steps_through(s.steps);
    going.trainer.settle_all();
    EXPECT_LT(oracle::distance(going.weights(), expected), 2e-5)
        << algorithm << ", gone on by " << ranks;
  });
}

TEST(RankCheckpoint, AnyNumberOfRanksGoesOnFromWhatAnyNumberWrote) {
  Settings s;
  s.weight_decay = 0.05;
  for (const char* algorithm : {"sgd", "dpsgd-f", "lazydp-no-ans", "lazydp"}) {
    s.table_rule = s.table_rule == TableRule::sgd ? TableRule::momentum : TableRule::sgd;
    s.rate = s.table_rule == TableRule::sgd ? 0.4 : 0.1;
    const std::vector<float> expected = oracle::train(algorithm, s);
    for (const int writers : {1, 4}) {
      const TemporaryFolder scratch;
      const std::vector<Step> at = {3, 7};
      train_and_save(writers, s, algorithm, scratch / "checkpoint", at);
      for (const int readers : {1, 2, 4, 5}) {
        go_on(readers, s, algorithm, scratch / "checkpoint", expected);
      }
    }
  }
}

TEST(RankCheckpoint, HasAPartForEachRankAndLeavesNoneBehind) {
  const TemporaryFolder scratch;
  const std::string path = scratch / "checkpoint";
  const std::vector<Step> at = {2, 4, 6, 6};  // the last one twice
  train_and_save(3, {}, "lazydp", path, at);
  EXPECT_EQ(names(path, "-part-").size(), 6u);  // parts of the newest two
  EXPECT_EQ(names(path, "").size(), 8u);
}

TEST(RankCheckpoint, PartsWithoutAManifestAreNoCheckpoint) {
  const TemporaryFolder scratch;
  const std::string path = scratch / "checkpoint";
  const std::vector<Step> at = {2, 4};
  train_and_save(3, {}, "lazydp", path, at);
  std::filesystem::remove(path + "/step-0000000004.unsettled");  // as if killed earlier
  CheckpointFolder folder(path, Json{{"a", 1}}, std::nullopt);
  EXPECT_EQ(folder.open()->head().step, 2u);
  EXPECT_EQ(names(path, "-part-").size(), 3u);
}

TEST(RankCheckpoint, OfWhichTheNewestIsDamagedTheOneBeforeCanBeHad) {
  const TemporaryFolder scratch;
  const std::string path = scratch / "checkpoint";
  const std::vector<Step> at = {3, 7};
  train_and_save(3, {}, "lazydp", path, at);
  std::fstream(path + "/step-0000000007.unsettled", std::ios::in | std::ios::out | std::ios::binary)
      .seekp(90)
      .put('!');
  CheckpointFolder folder(path, Json{{"a", 1}}, std::nullopt);
  EXPECT_THROW(folder.open(), IoError);
  EXPECT_EQ(folder.open(1)->head().step, 3u);
  EXPECT_EQ(names(path, "-part-").size(), 6u) << "nothing is thrown away unasked";
}

TEST(RankCheckpoint, AMissingOrDamagedPartIsNoticed) {
  for (const bool missing : {true, false}) {
    const TemporaryFolder scratch;
    const std::string path = scratch / "checkpoint";
    const std::vector<Step> at = {2};
    train_and_save(3, {}, "lazydp", path, at);
    const std::string part = path + "/" + names(path, "-part-").front();
    if (missing) {
      std::filesystem::remove(part);
    } else {
      std::fstream file(part, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-20, std::ios::end);
      file.put('!');
    }
    CheckpointFolder folder(path, Json{{"a", 1}}, std::nullopt);
    const auto checkpoint = folder.open();
    const Settings s;
    oracle::World world(s.shape, s.key, s.sampling_rate);
    Trainer trainer(plan_of("lazydp", s), {}, world.seed, world.model, s.shape.mode, world.tables,
                    world.data, *world.sampler);
    EXPECT_THROW(folder.restore(*checkpoint, trainer), IoError);
  }
}

TEST(RankRelease, StreamsTheModelOfOneProcessAndLeavesASettledState) {
  const TemporaryFolder scratch;
  const Settings s;
  const std::vector<float> expected = oracle::train("lazydp", s);
  run_as_ranks(4, [&](Communicator& here) {
    std::optional<CheckpointFolder> folder;
    open_in_turn(here, [&] { folder.emplace(scratch / "checkpoint", Json{}, std::nullopt); });
    Going going(here, s, "lazydp");
    going.steps_through(5);
    folder->save(going.trainer);
    going.steps_through(s.steps);
    release(std::move(going.owner), {.delta = 1e-6, .shape = s.shape}, *folder)
        .write(scratch / "model");
  });
  const SafetensorsFile model(scratch / "model/model.safetensors");
  std::vector<float> weights;
  for (const auto& tensor : model.tensors()) {
    std::vector<float> values((tensor.end - tensor.begin) / sizeof(float));
    model.read(tensor.name, values);
    weights.insert(weights.end(), values.begin(), values.end());
  }
  std::vector<float> in_any_order = expected;  // a file's tensors are sorted by name
  std::ranges::sort(in_any_order);
  std::ranges::sort(weights);
  EXPECT_LT(oracle::distance(weights, in_any_order), 2e-5);
  EXPECT_EQ(names(scratch / "checkpoint", "unsettled").size(), 0u);
  CheckpointFolder folder(scratch / "checkpoint", Json{}, std::nullopt);
  EXPECT_TRUE(folder.open()->head().settled);
  EXPECT_EQ(names(scratch / "checkpoint", ".settled-part-").size(), 4u);
}

}  // namespace
}  // namespace lazydp
