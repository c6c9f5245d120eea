// Runs that leave a folder, as a user has them: train --out, resume, release.

#include "lazydp/cli/run/run_directory.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "lazydp/cli/config.h"
#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

std::string model_of(const Workplace& at, const std::string& run) {
  return contents(at / (run + "/model/model.safetensors"));
}

nlohmann::json card_of(const Workplace& at, const std::string& run) {
  return nlohmann::json::parse(contents(at / (run + "/model/card.json")));
}

Ran train(const Workplace& at, const Words& more) {
  return at.run(tiny({"train", "--quiet"}, more));
}

TEST(RunFolder, HoldsWhatItShouldForItsOwnerAlone) {
  const Workplace at;
  const Ran ran = train(at, {"--steps", "12", "--out", "run", "--checkpoint-every", "5"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* name : {"run/config.toml", "run/metrics.jsonl", "run/checkpoint",
                           "run/model/model.safetensors", "run/model/card.json"}) {
    EXPECT_TRUE(fs::exists(at / name)) << name;
  }
  EXPECT_EQ(fs::status(at / "run").permissions(), fs::perms::owner_all);
  for (const auto& entry : fs::recursive_directory_iterator(at / "run")) {
    if (entry.path().string().find("/model") != std::string::npos) continue;
    const auto others = fs::perms::group_all | fs::perms::others_all;
    EXPECT_EQ(entry.status().permissions() & others, fs::perms::none) << entry.path();
  }
  const auto card = card_of(at, "run");
  EXPECT_GT(card["claim"]["epsilon"].get<double>(), 0.0);
  EXPECT_FALSE(card.contains("metrics"));
}

TEST(RunFolder, ResumedRunEndsInTheSameModel) {
  const Workplace at;
  const Words fixed = {"--seed", "5", "--lr-schedule", "cosine", "--checkpoint-every", "4"};
  Words whole = fixed;
  whole.insert(whole.end(), {"--steps", "12", "--out", "whole"});
  ASSERT_EQ(train(at, whole).code, 0);

  Words stopped = fixed;
  stopped.insert(stopped.end(), {"--steps", "12", "--out", "stopped", "--no-release"});
  ASSERT_EQ(train(at, stopped).code, 0);
  fs::remove(at / "stopped/checkpoint/step-0000000012.unsettled");  // as if it had died at step 9
  ASSERT_TRUE(fs::exists(at / "stopped/checkpoint/step-0000000008.unsettled"));
  ASSERT_EQ(at.run({"resume", "stopped", "--quiet"}).code, 0);
  EXPECT_FALSE(fs::exists(at / "stopped/model")) << "it was told not to release";
  ASSERT_EQ(at.run({"release", "stopped", "--quiet"}).code, 0);
  EXPECT_EQ(weights(at, "stopped/model"), weights(at, "whole/model"));
}

TEST(RunFolder, TrainGoesOnWithAnUnfinishedRunOfTheSameSettingsOnly) {
  const Workplace at;
  const Words words = {"--steps", "12", "--out", "run", "--checkpoint-every", "4", "--no-release"};
  ASSERT_EQ(train(at, words).code, 0);
  EXPECT_EQ(train(at, words).code, 0);
  Words other = words;
  other.insert(other.end(), {"--noise-multiplier", "2"});
  const Ran refused = train(at, other);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("other settings"), std::string::npos) << refused.err;
  ASSERT_EQ(at.run({"release", "run", "--quiet"}).code, 0);
  EXPECT_EQ(train(at, words).code, 2) << "it is finished";
  at.write("file", "");
  EXPECT_EQ(train(at, {"--out", "file"}).code, 2);
}

TEST(RunFolder, ConfigHoldsFlagsWhateverTheyHold) {
  const Workplace at;
  FlagTexts given;
  given.model = "a \"b\"\\\n\t\x01";
  at.write("config.toml", config_text(given));
  FlagTexts back;
  read_config_file((at / "config.toml").string(), all_flags(), back);
  EXPECT_EQ(back.model, given.model);
}

TEST(RunFolder, ReleasingTwiceWritesTheSameBytes) {
  const Workplace at;
  ASSERT_EQ(train(at, {"--steps", "6", "--out", "run"}).code, 0);
  const std::string model = model_of(at, "run");
  ASSERT_EQ(at.run({"release", "run", "--quiet"}).code, 0);
  EXPECT_EQ(model_of(at, "run"), model);
  fs::remove_all(at / "run/model");
  ASSERT_EQ(at.run({"release", "run", "--quiet"}).code, 0);
  EXPECT_EQ(model_of(at, "run"), model);
}

TEST(RunFolder, AnEditedCardOrModelIsRefusedWithExit3) {
  const Workplace at;
  ASSERT_EQ(train(at, {"--steps", "6", "--out", "run"}).code, 0);
  const std::string card = contents(at / "run/model/card.json");
  std::string edited = card;
  edited.replace(edited.find("\"steps\": 6"), 10, "\"steps\": 5");
  at.write("run/model/card.json", edited);
  EXPECT_EQ(at.run({"release", "run", "--quiet"}).code, 3);
  EXPECT_EQ(at.run({"resume", "run", "--steps", "9", "--quiet"}).code, 3);
  EXPECT_EQ(contents(at / "run/model/card.json"), edited) << "nothing is overwritten";
}

TEST(RunFolder, AChangedMechanismIsRefusedOrGoesTheSettledWay) {
  const Workplace at;
  ASSERT_EQ(train(at, {"--steps", "6", "--out", "run", "--no-release"}).code, 0);
  const Ran refused =
      at.run({"resume", "run", "--noise-multiplier", "3", "--steps", "9", "--quiet"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_NE(refused.err.find("noise_multiplier was 1.0 and is 3.0"), std::string::npos)
      << refused.err;
  const Ran branched =
      at.run({"resume", "run", "--noise-multiplier", "3", "--steps", "9", "--branch", "--quiet"});
  ASSERT_EQ(branched.code, 0) << branched.err;
  ASSERT_EQ(at.run({"release", "run", "--quiet"}).code, 0);
  const auto ledger = card_of(at, "run")["ledger"];
  ASSERT_EQ(ledger.size(), 2u);
  EXPECT_EQ(ledger[0]["noise_multiplier"], 1.0);
  EXPECT_EQ(ledger[0]["steps"], 6);
  EXPECT_EQ(ledger[1]["noise_multiplier"], 3.0);
  EXPECT_EQ(ledger[1]["steps"], 3);
}

TEST(RunFolder, ABranchInheritsThatNothingIsClaimed) {
  const Workplace at;
  ASSERT_EQ(train(at, {"--steps", "6", "--out", "run", "--algorithm", "eana"}).code, 0);
  const Ran ran =
      at.run({"resume", "run", "--algorithm", "lazydp", "--steps", "9", "--branch", "--quiet"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(card_of(at, "run")["claim"]["statement"], "no privacy claim");
}

TEST(RunFolder, ABranchOfAnotherShapeIsRefusedAndTheRunGoesOn) {
  const Workplace at;
  ASSERT_EQ(train(at, {"--steps", "6", "--out", "run", "--no-release"}).code, 0);
  const Ran refused =
      at.run({"resume", "run", "--top", "9-1", "--steps", "9", "--branch", "--quiet"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("shape"), std::string::npos) << refused.err;
  const Ran ran = at.run({"release", "run", "--quiet"});
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST(RunFolder, ASpentBudgetLeavesTheModelWhereItIs) {
  const Workplace at;
  const Words words = {"--steps", "500",     "--epsilon", "1",     "--noise-multiplier",
                       "0.3",     "--delta", "1e-8",      "--out", "run"};
  ASSERT_EQ(train(at, words).code, 0);
  const std::string model = model_of(at, "run");
  EXPECT_EQ(at.run({"resume", "run", "--quiet"}).code, 3);
  EXPECT_EQ(model_of(at, "run"), model);
}

TEST(RunFolder, TrainingFurtherAfterAReleaseKeepsBothModelsAndOneLedger) {
  const Workplace at;
  ASSERT_EQ(train(at, {"--steps", "6", "--out", "run"}).code, 0);
  const std::string first = model_of(at, "run");
  EXPECT_EQ(at.run({"resume", "run", "--quiet"}).code, 2) << "there is nothing left to do";
  const Ran ran = at.run({"resume", "run", "--steps", "10", "--quiet"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(contents(at / "run/model-step-6/model.safetensors"), first);
  EXPECT_EQ(card_of(at, "run")["ledger"][0]["steps"], 10);
}

TEST(RunFolder, ABranchWithALargerBudgetPaysForWhatWasSpent) {
  const Workplace at;
  const Words first = {"--steps", "20", "--epsilon", "2", "--delta", "1e-8", "--out", "run"};
  ASSERT_EQ(train(at, first).code, 0);
  const Ran ran =
      at.run({"resume", "run", "--epsilon", "3", "--steps", "30", "--branch", "--quiet"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto card = card_of(at, "run");
  EXPECT_EQ(card["ledger"].size(), 2u);
  EXPECT_EQ(card["ledger"][1]["steps"], 10);
  EXPECT_LE(card["claim"]["epsilon"].get<double>(), 3.0);
  EXPECT_GT(card["claim"]["epsilon"].get<double>(), 2.9);
}

// The noise met the budget: whatever is added to the steps to come, nothing is left to pay for one.
TEST(RunFolder, ABranchWithinASpentBudgetIsRefused) {
  const Workplace at;
  const Words first = {"--steps", "20", "--epsilon", "2", "--delta", "1e-8", "--out", "run"};
  ASSERT_EQ(train(at, first).code, 0);
  const std::string model = model_of(at, "run");
  const Ran ran =
      at.run({"resume", "run", "--epsilon", "1.9", "--steps", "30", "--branch", "--quiet"});
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_NE(ran.err.find("20 steps have spent"), std::string::npos) << ran.err;
  EXPECT_EQ(model_of(at, "run"), model);
}

TEST(RunFolder, WithoutItsCheckpointAReleasedRunDoesNotStartAgain) {
  const Workplace at;
  ASSERT_EQ(train(at, {"--steps", "6", "--out", "run"}).code, 0);
  fs::remove_all(at / "run/checkpoint");
  EXPECT_EQ(at.run({"resume", "run", "--steps", "9", "--quiet"}).code, 3);
}

TEST(RunFolder, ADamagedCheckpointIsNamedAndThePreviousOneCanBeTaken) {
  const Workplace at;
  const Words words = {"--steps", "12",     "--out", "run",         "--checkpoint-every",
                       "4",       "--seed", "3",     "--no-release"};
  ASSERT_EQ(train(at, words).code, 0);
  const std::string newest = "run/checkpoint/step-0000000012.unsettled";
  std::string bytes = contents(at / newest);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  at.write(newest, bytes);
  const Ran refused = at.run({"resume", "run", "--quiet"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_NE(refused.err.find("damaged"), std::string::npos) << refused.err;
  EXPECT_EQ(contents(at / newest), bytes);
  EXPECT_EQ(at.run({"resume", "run", "--previous", "--quiet"}).code, 0);
}

TEST(RunFolder, EncryptedCheckpointsNeedTheirKey) {
  const Workplace at;
  at.write("key", "a passphrase of some length\n");
  at.write("other", "another passphrase\n");
  at.write("short", "abc\n");
  ASSERT_EQ(train(at, {"--steps", "6", "--out", "run", "--key-file", "key", "--no-release"}).code,
            0);
  EXPECT_EQ(at.run({"release", "run", "--quiet"}).code, 2);
  EXPECT_EQ(at.run({"release", "run", "--key-file", "other", "--quiet"}).code, 2);
  EXPECT_EQ(at.run({"release", "run", "--key-file", "short", "--quiet"}).code, 2);
  EXPECT_EQ(at.run({"release", "run", "--key-file", "absent", "--quiet"}).code, 4);
  EXPECT_FALSE(fs::exists(at / "run/model"));
  EXPECT_EQ(at.run({"release", "run", "--key-file", "key", "--quiet"}).code, 0);
}

TEST(RunFolder, AFolderOfSomethingElseIsLeftAlone) {
  const Workplace at;
  fs::create_directory(at / "photos");
  at.write("photos/one", "x");
  EXPECT_EQ(train(at, {"--steps", "2", "--out", "photos"}).code, 2);
  EXPECT_EQ(at.run({"resume", "photos"}).code, 2);
  EXPECT_EQ(at.run({"release", "absent"}).code, 2);
  EXPECT_EQ(at.run({"release"}).code, 2);
  EXPECT_EQ(at.run({"release", "a", "b"}).code, 2);
  EXPECT_EQ(contents(at / "photos/one"), "x");
}

TEST(RunFolder, MetricsReachTheCardOnlyWhenAskedTo) {
  const Workplace at;
  const Words words = {"train", "--quiet", "--epochs", "0.01", "--threads", "2", "--out"};
  Words on = words;
  on.insert(on.end(), {"run", "--private-metrics", "on"});
  ASSERT_EQ(at.run(on).code, 0);
  EXPECT_TRUE(card_of(at, "run")["metrics"].contains("auc"));
  const std::string model = model_of(at, "run");
  const Ran again = at.run({"release", "run", "--quiet"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(model_of(at, "run"), model);

  // Learning rates that are defaults follow the number of steps, and are no changed mechanism.
  const Ran further = at.run({"resume", "run", "--epochs", "0.5", "--quiet"});
  EXPECT_EQ(further.code, 0) << further.err;
}

}  // namespace
}  // namespace lazydp::cli
