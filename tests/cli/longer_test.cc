// Runs that are trained further, and killed while they begin to: the files that are left continue
// as if nothing had happened.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>

#include "tests/cli/child.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

// Steps of each entry of a card's ledger.
std::vector<int> ledger(const Workplace& at, const std::string& run) {
  std::vector<int> steps;
  const auto card = nlohmann::json::parse(contents(at / (run + "/model/card.json")));
  for (const auto& event : card.at("ledger")) steps.push_back(event.at("steps"));
  return steps;
}

// A run of six steps that was released, under several names; and what twelve steps make of it.
class Longer : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(
        at_.run(tiny({"train", "--quiet", "--steps", "6", "--seed", "5", "--out", "run"})).code, 0);
    fs::copy(at_ / "run", at_ / "twelve", fs::copy_options::recursive);
    ASSERT_EQ(resumed("twelve", {"--steps", "12"}).code, 0);
    ASSERT_EQ(ledger(at_, "twelve"), std::vector<int>{12});
  }

  // Makes a run as a process leaves it that ended after it put the model aside, or after it wrote
  // the new config.toml.
  std::string left(const std::string& name, bool with_new_config) {
    fs::copy(at_ / "run", at_ / name, fs::copy_options::recursive);
    fs::rename(at_ / (name + "/model"), at_ / (name + "/model-step-6"));
    if (with_new_config) {
      fs::copy_file(at_ / "twelve/config.toml", at_ / (name + "/config.toml"),
                    fs::copy_options::overwrite_existing);
      fs::copy_file(at_ / "twelve/metrics.jsonl", at_ / (name + "/metrics.jsonl"),
                    fs::copy_options::overwrite_existing);
    }
    return name;
  }

  Ran resumed(const std::string& run, const Words& more = {}) {
    return at_.run(Words{"resume", run, "--quiet", "--threads", "1"} + more);
  }

  Workplace at_;
};

TEST_F(Longer, LostBeforeItsConfigItIsWhatItWasAndCanStillBeTrainedFurther) {
  ASSERT_EQ(resumed(left("a", false)).code, 0);
  EXPECT_EQ(weights(at_, "a/model"), weights(at_, "run/model")) << "the same model again";
  const Ran again = resumed("a", {"--steps", "12"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(weights(at_, "a/model"), weights(at_, "twelve/model"));
  EXPECT_EQ(weights(at_, "a/model-step-6"), weights(at_, "run/model"));
  ASSERT_EQ(resumed(left("b", false), {"--steps", "12"}).code, 0);
  EXPECT_EQ(weights(at_, "b/model"), weights(at_, "twelve/model"));
  EXPECT_EQ(ledger(at_, "b"), std::vector<int>{12});
}

// Returns what is in the files of a folder.
std::map<std::string, std::string> files_of(const fs::path& folder) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) all[entry.path().string()] = contents(entry.path());
  }
  return all;
}

// A dry run tells what the resumed run then claims, and writes nothing.
TEST(ResumeDryRun, SaysWhatComesBeforeAnythingIsWritten) {
  const Workplace at;
  ASSERT_EQ(
      at.run(tiny({"train", "--quiet", "--noise-multiplier", "1", "--steps", "6", "--out", "run"}))
          .code,
      0);
  const auto before = files_of(at / "run");
  for (const Words& more :
       {Words{"--more-steps", "6"}, Words{"--steps", "9", "--clip-norm", "0.5", "--branch"}}) {
    const auto told = at.json(Words{"resume", "run", "--dry-run"} + more);
    ASSERT_EQ(at.last().code, 0) << at.last().err;
    EXPECT_EQ(told.at("steps_taken"), 6);
    EXPECT_TRUE(files_of(at / "run") == before);
    fs::remove_all(at / "copy");
    fs::copy(at / "run", at / "copy", fs::copy_options::recursive);
    ASSERT_EQ(at.run(Words{"resume", "copy", "--quiet"} + more).code, 0) << at.last().err;
    const auto card = nlohmann::json::parse(contents(at / "copy/model/card.json"));
    EXPECT_DOUBLE_EQ(told.at("epsilon"), card.at("claim").at("epsilon"));
    EXPECT_EQ(told.at("steps"), more[1] == "6" ? 12 : 9);
  }
  EXPECT_EQ(at.run({"resume", "run", "--dry-run"}).code, 2) << "it is finished";
  EXPECT_NE(
      at.run({"resume", "run", "--dry-run", "--more-steps", "1"}).out.find("6 taken, 1 to come"),
      std::string::npos);
}

TEST_F(Longer, LostAfterItsConfigItGoesOnToTheNewNumberOfSteps) {
  for (const Words& more : {Words{}, Words{"--steps", "12"}}) {
    const std::string name = left("a" + std::to_string(more.size()), true);
    const Ran ran = resumed(name, more);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(weights(at_, name + "/model"), weights(at_, "twelve/model"));
    EXPECT_EQ(ledger(at_, name), std::vector<int>{12});
  }
}

// Steps that no checkpoint kept have drawn noise. A run that then continues in another way draws
// other noise.
TEST_F(Longer, LostAfterItsConfigItMayGoOnOtherwiseUnderAnotherKey) {
  fs::copy(at_ / "run", at_ / "nine", fs::copy_options::recursive);
  ASSERT_EQ(resumed("nine", {"--steps", "9"}).code, 0);
  const Ran ran = resumed(left("a", true), {"--steps", "9"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ledger(at_, "a"), std::vector<int>{9});
  EXPECT_NE(weights(at_, "a/model"), weights(at_, "nine/model"));
  const Ran refused = resumed(left("b", true), {"--noise-multiplier", "3"});
  EXPECT_EQ(refused.code, 3) << refused.err;
}

struct Change {
  const char* name;
  Words first;
  Words flags;
  std::vector<int> ledger;
};

class KilledWhileItChanges : public testing::TestWithParam<Change> {};

// Repeats one command until it succeeds.
TEST_P(KilledWhileItChanges, ARunEndsInTheSameModel) {
  const Change& change = GetParam();
  const Workplace at;
  const auto begin = [&](const std::string& out) {
    const Words words = tiny({"train", "--quiet", "--steps", "40", "--seed", "5"}) +
                        Words{"--checkpoint-every", "10", "--out", out} + change.first;
    ASSERT_EQ(at.run(words).code, 0);
  };
  const auto go_on = [&](const std::string& out) {
    return Words{"resume", out, "--quiet", "--threads", "1"} + change.flags;
  };
  begin("whole");
  const auto start = std::chrono::steady_clock::now();
  const Ran whole = at.run(go_on("whole"));
  ASSERT_EQ(whole.code, 0) << whole.err;
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  ASSERT_EQ(at.run({"release", "whole", "--quiet"}).code, 0);
  fs::remove_all(at / "tables");
  std::mt19937 rng(3);
  std::uniform_real_distribution<double> moment(0.0, 1.1);
  for (int kills = 0; kills < 6;) {
    begin("run");
    for (int code = -1; code != 0;) {
      Child child(at, go_on("run"));
      std::this_thread::sleep_for(taken * moment(rng));
      child.send(SIGKILL);
      code = child.wait();
      kills += code == -SIGKILL ? 1 : 0;
      // It was killed after its last word: there is nothing left to do.
      if (code == 2 && child.err().find("is finished") != std::string::npos) break;
      ASSERT_TRUE(code == 0 || code == -SIGKILL) << code << child.err();
    }
    ASSERT_EQ(at.run({"release", "run", "--quiet"}).code, 0);
    EXPECT_EQ(ledger(at, "run"), change.ledger);
    EXPECT_EQ(weights(at, "run/model"), weights(at, "whole/model"));
    fs::remove_all(at / "run");
    fs::remove_all(at / "tables");
  }
}

constexpr const char* kFiles = "file:tables";
const Words kBranch = {"--steps", "80", "--noise-multiplier", "3", "--branch"};

INSTANTIATE_TEST_SUITE_P(
    Runs, KilledWhileItChanges,
    testing::Values(Change{"steps", {}, {"--steps", "80"}, {80}},
                    Change{"steps_in_files", {"--table-storage", kFiles}, {"--steps", "80"}, {80}},
                    Change{"mechanism", {"--no-release"}, kBranch, {40, 40}},
                    Change{"mechanism_in_files",
                           {"--no-release", "--table-storage", kFiles},
                           kBranch,
                           {40, 40}}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace lazydp::cli
