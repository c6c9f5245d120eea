#include "lazydp/release/release.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "lazydp/checkpoint/checkpoint_folder.h"
#include "lazydp/export/safetensors.h"
#include "lazydp/privacy/rdp.h"
#include "tests/support/allocations.h"
#include "tests/support/runs.h"
#include "tests/support/temporary_folder.h"

namespace lazydp {
namespace {

using oracle::plan_of;
using oracle::Settings;
using oracle::World;

// A world whose sampler and noise come from one seed, trained for some steps.
struct Trained : World {
  Settings settings;
  std::unique_ptr<Sampler> batches;
  std::unique_ptr<Trainer> owner;  // until it is released
  Trainer& trainer = *owner;

  Trained(std::string_view algorithm, const Seed& key, const Settings& s = {})
      : World(s.shape, s.key, s.sampling_rate),
        settings(s),
        batches(make_poisson_sampler(key, 40, s.sampling_rate)),
        owner(std::make_unique<Trainer>(plan_of(algorithm, s), Performance{}, key, model,
                                        s.shape.mode, tables, data, *batches)) {
    while (trainer.now() < s.steps) trainer.step();
  }

  ReleaseNotes notes() const { return {.delta = 1e-5, .shape = shape, .data = {{"name", "test"}}}; }
  ReleasedModel out() { return release(std::move(owner), notes()); }
};

TEST(Release, WritesEveryWeightUnderItsTorchName) {
  const TemporaryFolder folder;
  Trained run("lazydp", Seed::from_os());
  run.out().write(folder / "model");
  const SafetensorsFile file(folder / "model/model.safetensors");
  std::vector<float> all;
  std::vector<std::string> names;
  for (const auto& tensor : file.tensors()) {
    names.push_back(tensor.name);
    std::vector<float> values((tensor.end - tensor.begin) / sizeof(float));
    file.read(tensor.name, values);
    all.insert(all.end(), values.begin(), values.end());
  }
  EXPECT_EQ(all, run.weights());
  EXPECT_EQ(names, (std::vector<std::string>{"bottom.0.weight", "bottom.0.bias", "bottom.2.weight",
                                             "bottom.2.bias", "top.0.weight", "top.0.bias",
                                             "top.2.weight", "top.2.bias", "tables.0.weight",
                                             "tables.1.weight", "tables.2.weight"}));
  EXPECT_EQ(file.tensors()[0].shape, (std::vector<std::size_t>{5, 3}));
  EXPECT_EQ(file.tensors()[10].shape, (std::vector<std::size_t>{50, 4}));
}

TEST(Release, OfASearchClaimsWhatAllItsTrialsCost) {
  Trained run("lazydp", Seed::from_os());
  ReleaseNotes notes = run.notes();
  notes.search = PrivateSearch{.trials = trials_with_mean(10, 0),
                               .candidates = 3,
                               .training = rdp_curve(run.trainer.ledger()),
                               .score_noise = 5};
  const double alone = epsilon(run.trainer.ledger(), notes.delta, Accountant::rdp);
  const ReleasedModel model = release(std::move(run.owner), notes);
  EXPECT_EQ(model.claim().epsilon, search_epsilon(*notes.search, notes.delta));
  EXPECT_GT(model.claim().epsilon, alone);
  const Json& claim = model.card().at("claim");
  EXPECT_EQ(claim.at("epsilon"), model.claim().epsilon);
  EXPECT_EQ(claim.at("search").at("candidates"), 3);
}

TEST(Release, OfASearchIsRefusedForAModelThatItDidNotCount) {
  Trained run("lazydp", Seed::from_os());
  ReleaseNotes notes = run.notes();
  std::vector<double> less = rdp_curve(run.trainer.ledger());
  less[40] *= 0.999;
  notes.search = PrivateSearch{
      .trials = trials_with_mean(10, 0), .candidates = 3, .training = less, .score_noise = 5};
  EXPECT_THROW(release(std::move(run.owner), notes), PrivacyError);
}

TEST(Release, OfASearchWithAFixedSeedClaimsNothing) {
  Trained run("lazydp", Seed::fixed(1));
  ReleaseNotes notes = run.notes();
  notes.search = PrivateSearch{.trials = trials_with_mean(10, 0),
                               .candidates = 3,
                               .training = rdp_curve(run.trainer.ledger()),
                               .score_noise = 5};
  const ReleasedModel model = release(std::move(run.owner), notes);
  EXPECT_FALSE(model.claim().holds);
  EXPECT_FALSE(model.card().at("claim").contains("search"));
}

TEST(Release, LeavesNoRowBehind) {
  Trained run("lazydp", Seed::from_os());
  TableOptimizer& rows = run.trainer.state().table_optimizer;
  ASSERT_FALSE(rows.all_settled(run.trainer.now()));
  const ReleasedModel model = run.out();  // which has the trainer
  EXPECT_TRUE(rows.all_settled(run.settings.steps));
}

TEST(Release, HoldsNoSecretAndNoHole) {
  const TemporaryFolder folder;
  const Seed secret = Seed::from_os();
  Settings s;
  s.shape = oracle::small_shape({1, 6, 30'000});
  Trained run("lazydp", secret, s);
  run.out().write(folder / "model");
  const Seed::Bytes key = secret.reveal();
  const std::string bytes(key.begin(), key.end());
  std::string hex;
  for (const std::uint8_t byte : key) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    hex += digits;
  }
  for (const char* name : {"model/model.safetensors", "model/card.json"}) {
    const std::string text = contents(folder / name);
    EXPECT_EQ(text.find(bytes), std::string::npos) << name;
    EXPECT_EQ(text.find(hex), std::string::npos) << name;
    struct stat status = {};
    ASSERT_EQ(stat((folder / name).c_str(), &status), 0);
    EXPECT_GE(status.st_blocks * 512, status.st_size) << name << " has holes";
  }
  // Header, card and one float a weight: there is no room for anything else.
  EXPECT_LT(contents(folder / "model/model.safetensors").size(),
            run.weights().size() * sizeof(float) + 6000);
}

TEST(Release, OfTheSameStateWritesTheSameBytes) {
  const TemporaryFolder scratch;
  CheckpointFolder folder(scratch / "checkpoint", {}, std::nullopt);
  const Settings s;
  Trained run("lazydp", Seed::from_os());
  folder.save(run.trainer);
  release(std::move(run.owner), run.notes(), folder).write(scratch / "model");
  const std::string weights = contents(scratch / "model/model.safetensors");
  const std::string card = contents(scratch / "model/card.json");

  const auto checkpoint = folder.open();
  Settings none = s;
  none.steps = 0;
  World world(s.shape, s.key, s.sampling_rate);
  const auto sampler = make_poisson_sampler(checkpoint->head().seed, 40, s.sampling_rate);
  auto again =
      std::make_unique<Trainer>(plan_of("lazydp", s), Performance{}, checkpoint->head().seed,
                                world.model, s.shape.mode, world.tables, world.data, *sampler);
  folder.restore(*checkpoint, *again);
  release(std::move(again), run.notes(), folder).write(scratch / "model");
  EXPECT_EQ(contents(scratch / "model/model.safetensors"), weights);
  EXPECT_EQ(contents(scratch / "model/card.json"), card);
}

TEST(Release, OfWhatHasNoClaimSaysWhyOnTheCard) {
  for (const auto& [algorithm, reason] :
       {std::pair{"sgd", "no noise"}, {"eana", "EANA"}, {"lazydp", "seed was fixed"}}) {
    Trained run(algorithm, Seed::fixed(4));
    const ReleasedModel model = run.out();
    EXPECT_FALSE(model.claim().holds);
    EXPECT_EQ(model.card()["claim"]["statement"], "no privacy claim");
    EXPECT_NE(model.card()["claim"]["reason"].get<std::string>().find(reason), std::string::npos);
    EXPECT_FALSE(model.card()["claim"].contains("epsilon"));
  }
}

TEST(Release, CardHasTheClaimAndNothingMeasured) {
  Trained run("lazydp", Seed::from_os());
  const ReleasedModel model = run.out();
  const Json& claim = model.card()["claim"];
  EXPECT_DOUBLE_EQ(claim["epsilon"].get<double>(),
                   epsilon(run.trainer.ledger(), 1e-5, Accountant::pld));
  EXPECT_EQ(claim["delta"], 1e-5);
  EXPECT_EQ(model.card()["ledger"][0]["steps"], run.settings.steps);
  EXPECT_FALSE(model.card().contains("metrics"));
  EXPECT_EQ(model.card().dump().find("loss"), std::string::npos);
}

TEST(VerifiedCard, KnowsAnEditedCardAndAnEditedModel) {
  const TemporaryFolder folder;
  Trained run("lazydp", Seed::from_os());
  const ReleasedModel model = run.out();
  model.write(folder / "model");
  EXPECT_EQ(verified_card(folder / "model")["version"], 1);
  const std::string card = contents(folder / "model/card.json");
  const std::string weights = contents(folder / "model/model.safetensors");

  std::string better = card;
  const auto at = better.find("\"epsilon\": ") + std::strlen("\"epsilon\": ");
  better[at] = better[at] == '1' ? '0' : '1';
  folder.write("model/card.json", better);
  EXPECT_THROW(verified_card(folder / "model"), PrivacyError);
  EXPECT_THROW(model.write(folder / "model"), PrivacyError);
  folder.write("model/card.json", "{");
  EXPECT_THROW(verified_card(folder / "model"), PrivacyError);
  folder.write("model/card.json", card);
  EXPECT_EQ(verified_card(folder / "model")["version"], 1);

  std::string other = weights;
  other.back() = static_cast<char>(other.back() ^ 1);
  folder.write("model/model.safetensors", other);
  EXPECT_THROW(verified_card(folder / "model"), PrivacyError);
  folder.write("model/model.safetensors", weights.substr(0, weights.size() / 2));
  EXPECT_THROW(verified_card(folder / "model"), PrivacyError);
}

TEST(Safetensors, FilesAreNotTrusted) {
  const TemporaryFolder folder;
  const auto file_with = [&](const std::string& header, std::size_t data) {
    std::uint64_t size = header.size();
    std::string bytes(reinterpret_cast<const char*>(&size), sizeof(size));
    folder.write("file", bytes + header + std::string(data, '\0'));
    return folder / "file";
  };
  EXPECT_EQ(
      SafetensorsFile(file_with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8))
          .tensors()
          .size(),
      1u);
  for (const char* header :
       {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}})",
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
        R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
        R"({"a":{"dtype":"F32","shape":[4611686018427387904,2],"data_offsets":[0,0]}})",
        R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})", R"({"a":7})", "[", "[1]",
        ""}) {
    EXPECT_THROW(SafetensorsFile(file_with(header, 8)), UserError) << header;
  }
  folder.write("file", std::string(8, '\xff'));
  EXPECT_THROW(SafetensorsFile(folder / "file"), UserError);
  folder.write("file", "abc");
  EXPECT_THROW(SafetensorsFile(folder / "file"), UserError);
  EXPECT_THROW(SafetensorsFile(folder / "absent"), IoError);
}

// Memory that runs out while rows settle: what is left is neither saved nor released, and the state
// that was saved before stays as it was.
TEST(Release, IsRefusedOnceSettlingHasFailed) {
  int broken = 0;
  for (std::uint64_t which = 0; which < 300; ++which) {
    const TemporaryFolder temporary;
    Settings s;
    s.steps = 6;
    World world(s.shape, s.key, s.sampling_rate);
    auto owner = std::make_unique<Trainer>(
        plan_of("lazydp", s), Performance{.settle_ahead = which % 2 == 0}, world.seed, world.model,
        s.shape.mode, world.tables, world.data, *world.sampler);
    Trainer& trainer = *owner;
    CheckpointFolder folder(temporary / "checkpoint", {}, std::nullopt);
    for (int i = 0; i < 2; ++i) trainer.step();
    folder.save(trainer);
    oracle::failing_allocation() = oracle::allocations() + which / 2;
    try {
      trainer.step();
      trainer.settle_all();
    } catch (const std::bad_alloc&) {
    }
    oracle::failing_allocation() = oracle::kNoAllocation;
    try {
      trainer.state().table_optimizer.require_whole();
      continue;
    } catch (const InternalError&) {
      ++broken;
    }
    EXPECT_THROW(folder.save(trainer), InternalError);
    EXPECT_THROW(folder.replace_by_settled(trainer), InternalError);
    EXPECT_THROW(trainer.settle_all(), InternalError);
    EXPECT_THROW(trainer.step(), InternalError);
    EXPECT_EQ(folder.open()->head().step, 2u);
    const ReleaseNotes notes = {.delta = 1e-5, .shape = world.shape, .data = {}};
    EXPECT_THROW(release(std::move(owner), notes, folder), InternalError);
  }
  EXPECT_GT(broken, 3) << "some failure must have come while rows settled";
}

}  // namespace
}  // namespace lazydp
