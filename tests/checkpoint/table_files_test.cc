// Tables in files train, stop, continue and are released as tables in memory are, bit for bit.

#include "lazydp/embedding/storage/table_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "lazydp/checkpoint/checkpoint_folder.h"
#include "lazydp/embedding/first_weights.h"
#include "lazydp/export/export_weights.h"
#include "lazydp/release/release.h"
#include "tests/support/runs.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

using oracle::plan_of;
using oracle::Settings;
using oracle::World;

// A world whose tables start as those of a run with this seed do, in memory or in files.
struct Going : World {
  std::unique_ptr<TableFiles> files;
  std::unique_ptr<Sampler> batches;
  std::unique_ptr<Trainer> owner;  // until it is released
  Trainer& trainer = *owner;

  Going(const Settings& s, std::string_view algorithm, const Seed& seed_of_run,
        const std::optional<std::string>& folder = {}, NoisePasses kernels = NoisePasses::fused)
      : World(s.shape, s.key, s.sampling_rate),
        files(folder ? std::make_unique<TableFiles>(*folder, "run", s.shape.table_rows, s.shape.dim)
                     : nullptr),
        batches(oracle::sampler_of(s, seed_of_run)),
        owner(std::make_unique<Trainer>(
            plan_of(algorithm, s), Performance{.settle_ahead = s.ahead, .passes = kernels},
            seed_of_run, model, s.shape.mode, files ? files->tables() : std::span<Table>(tables),
            data, *batches, files ? TableStorage::in(*files) : TableStorage::memory())) {
    for (Table& table : tables) initialise(table, seed_of_run);
  }

  void start() { files->start(files->first_weights(trainer.seed())); }

  void steps_through(Step last, bool evaluate = false) {
    while (trainer.now() < last) {
      trainer.step();
      if (!evaluate || trainer.now() % 3 != 0) continue;
      const std::vector<ExampleId> some = {trainer.now() % 40, (trainer.now() + 11) % 40};
      Batch batch;
      data.read(some, batch);
      trainer.predict(batch);
    }
  }

  // Every weight as it would be released.
  std::vector<float> settled() {
    std::vector<float> all;
    if (!files) trainer.settle_all();
    const auto pass = [&all](std::span<const float> some) {
      all.insert(all.end(), some.begin(), some.end());
    };
    for (const TensorSource& tensor : export_weights(trainer)) {
      pass(tensor.values);
      if (tensor.stream) tensor.stream(pass);
    }
    return all;
  }
};

Settings awkward(bool ahead) {
  Settings s;
  s.ahead = ahead;
  s.weight_decay = 0.05;
  s.rates = "warmup:3,cosine";
  s.noises = "step:4:0.8";
  return s;
}

using Case = std::tuple<const char*, bool>;
class TablesInFiles : public testing::TestWithParam<Case> {
 protected:
  const char* algorithm() const { return std::get<0>(GetParam()); }
  Settings settings() const { return awkward(std::get<1>(GetParam())); }
};

TEST_P(TablesInFiles, TrainAsTablesInMemoryBitForBit) {
  const Settings s = settings();
  for (const NoisePasses kernels : {NoisePasses::fused, NoisePasses::split}) {
    const TemporaryFolder scratch;
    Going memory(s, algorithm(), Seed::fixed(9), {}, kernels);
    Going file(s, algorithm(), Seed::fixed(9), scratch / "tables", kernels);
    file.start();
    memory.steps_through(s.steps, true);
    file.steps_through(s.steps, true);
    const auto dense = memory.model.parameters();
    EXPECT_TRUE(std::ranges::equal(file.model.parameters(), dense));
    EXPECT_EQ(file.settled(), memory.settled());
  }
}

// The state is kept at steps 4 and 8; the program is lost at 11, with rows that have changed since.
TEST_P(TablesInFiles, GoOnFromEitherCheckpointBitForBit) {
  const Settings s = settings();
  Going whole(s, algorithm(), Seed::fixed(9));
  whole.steps_through(s.steps, true);
  const auto expected = whole.settled();
  for (const std::size_t back : {0u, 1u}) {
    const TemporaryFolder scratch;
    {
      CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
      Going first(s, algorithm(), Seed::fixed(9), scratch / "tables");
      first.start();
      for (const Step at : {2u, 4u, 8u}) {
        first.steps_through(at, true);
        folder.save(first.trainer);
      }
      first.steps_through(11, true);
    }
    CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
    const auto checkpoint = folder.open(back);
    Going second(s, algorithm(), checkpoint->head().seed, scratch / "tables");
    folder.restore(*checkpoint, second.trainer);
    EXPECT_EQ(second.trainer.now(), back == 0 ? 8u : 4u);
    second.steps_through(10, true);
    folder.save(second.trainer);
    second.steps_through(s.steps, true);
    EXPECT_EQ(second.settled(), expected) << back;
  }
}

// Cells that earlier reads drew are drawn again, wherever the rows lie.
TEST(TablesInFiles, TrainAndGoOnUnderCorrelatedNoiseBitForBit) {
  Settings s = awkward(false);
  s.noises = "constant";
  s.stream = 5;
  for (const std::vector<double>& bands : {std::vector{1.0, -0.9}, bisr_bands(4)}) {
    s.bands = bands;
    for (const char* algorithm : {"lazydp-no-ans", "lazydp"}) {
      Going memory(s, algorithm, Seed::fixed(9));
      memory.steps_through(s.steps, true);
      const TemporaryFolder scratch;
      CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
      {
        Going first(s, algorithm, Seed::fixed(9), scratch / "tables");
        first.start();
        first.steps_through(8, true);
        folder.save(first.trainer);
        first.steps_through(11, true);
      }
      Going second(s, algorithm, Seed::fixed(9), scratch / "tables");
      folder.restore(*folder.open(), second.trainer);
      second.steps_through(s.steps, true);
      EXPECT_EQ(second.settled(), memory.settled()) << algorithm;
    }
  }
}

// A run that is stopped right after a checkpoint, and again right after it continues, saves the
// same step again and again: it must stay possible to go back to the checkpoint before.
TEST_P(TablesInFiles, GoBackHoweverOftenAStepIsSaved) {
  const Settings s = settings();
  Going whole(s, algorithm(), Seed::fixed(9));
  whole.steps_through(s.steps, true);
  const TemporaryFolder scratch;
  {
    CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
    Going first(s, algorithm(), Seed::fixed(9), scratch / "tables");
    first.start();
    for (const Step at : {4u, 8u, 8u, 8u}) {
      first.steps_through(at, true);
      folder.save(first.trainer);
    }
  }
  for (int stops = 0; stops < 3; ++stops) {
    CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
    const auto checkpoint = folder.open();
    Going again(s, algorithm(), checkpoint->head().seed, scratch / "tables");
    folder.restore(*checkpoint, again.trainer);
    Batch batch;
    std::vector<ExampleId> all(40);
    std::iota(all.begin(), all.end(), ExampleId{0});
    again.data.read(all, batch);
    again.trainer.predict(batch);  // which reads rows, and so copies them
    folder.save(again.trainer);
  }
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  const auto checkpoint = folder.open(1);
  ASSERT_EQ(checkpoint->head().step, 4u);
  Going second(s, algorithm(), checkpoint->head().seed, scratch / "tables");
  folder.restore(*checkpoint, second.trainer);
  second.steps_through(s.steps, true);
  EXPECT_EQ(second.settled(), whole.settled());
}

INSTANTIATE_TEST_SUITE_P(Algorithms, TablesInFiles,
                         testing::Combine(testing::Values("sgd", "eana", "lazydp-no-ans", "lazydp"),
                                          testing::Bool()));

std::vector<std::string> names(const std::filesystem::path& folder) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    found.push_back(entry.path().filename().string());
  }
  std::ranges::sort(found);
  return found;
}

TEST(TablesInFiles, AreReleasedAndTrainedFurtherAsTablesInMemoryAre) {
  const Settings s = awkward(false);
  const TemporaryFolder scratch;
  CheckpointFolder in_memory(scratch / "memory", {}, std::nullopt);
  CheckpointFolder in_files(scratch / "files", {}, std::nullopt);
  const ReleaseNotes notes = {.delta = 1e-5, .shape = s.shape};
  {
    Going memory(s, "lazydp", Seed::fixed(9));
    Going file(s, "lazydp", Seed::fixed(9), scratch / "tables");
    file.start();
    memory.steps_through(7);
    file.steps_through(7);
    in_memory.save(memory.trainer);
    in_files.save(file.trainer);
    release(std::move(memory.owner), notes, in_memory).write(scratch / "memory/model");
    release(std::move(file.owner), notes, in_files).write(scratch / "files/model");
  }
  const std::string released = contents(scratch / "files/model/model.safetensors");
  EXPECT_EQ(released, contents(scratch / "memory/model/model.safetensors"));
  EXPECT_EQ(names(scratch / "files"), (std::vector<std::string>{"model", "step-0000000007.settled",
                                                                "step-0000000007.settled-rows"}));
  EXPECT_EQ(names(scratch / "tables"), std::vector<std::string>{"lock"}) << "unsettled rows";
  EXPECT_EQ(std::filesystem::hard_link_count(scratch / "files/model/model.safetensors"), 2u);

  const auto from_memory = in_memory.open();
  const auto from_files = in_files.open();
  Going memory(s, "lazydp", from_memory->head().seed);
  Going file(s, "lazydp", from_files->head().seed, scratch / "tables");
  in_memory.restore(*from_memory, memory.trainer);
  in_files.restore(*from_files, file.trainer);
  memory.steps_through(10);
  file.steps_through(10);
  in_files.save(file.trainer);
  memory.steps_through(12);
  file.steps_through(12);
  EXPECT_EQ(file.settled(), memory.settled());
  verified_card(scratch / "files/model");
}

TEST(TablesInFiles, AreNotForAlgorithmsThatWriteEveryRow) {
  const TemporaryFolder scratch;
  EXPECT_THROW(Going({}, "dpsgd-f", Seed::fixed(9), scratch / "tables"), UserError);
}

TEST(TablesInFiles, AndCheckpointsWithTablesDoNotMix) {
  const Settings s;
  const TemporaryFolder scratch;
  CheckpointFolder in_memory(scratch / "memory", {}, std::nullopt);
  CheckpointFolder in_files(scratch / "files", {}, std::nullopt);
  Going memory(s, "lazydp", Seed::fixed(9));
  Going file(s, "lazydp", Seed::fixed(9), scratch / "tables");
  file.start();
  memory.steps_through(2);
  file.steps_through(2);
  in_memory.save(memory.trainer);
  in_files.save(file.trainer);
  Going other(s, "lazydp", Seed::fixed(9));
  Going another(s, "lazydp", Seed::fixed(9), scratch / "more");
  EXPECT_THROW(in_files.restore(*in_files.open(), other.trainer), UserError);
  EXPECT_THROW(in_memory.restore(*in_memory.open(), another.trainer), UserError);
  EXPECT_THROW(in_files.restore(*in_files.open(), another.trainer), UserError) << "other files";
}

}  // namespace
}  // namespace lazydp
