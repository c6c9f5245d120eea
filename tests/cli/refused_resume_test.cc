// Commands that cannot continue a run: each is refused before anything is written.

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "lazydp/base/error.h"
#include "lazydp/cli/run/persistent_run.h"
#include "tests/cli/program.h"
#include "tests/cli/user_data.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

// The columns without a key.
std::string schema() {
  constexpr std::string_view kKey = "key = true\n";
  std::string text = kUserSchema;
  return text.erase(text.find(kKey), kKey.size());
}

struct Bad {
  Words flags;
  int code;
  std::string says;
};

// Four runs of eight steps: calibrated to a budget or with a given noise, released or not.
class RefusedResume : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    at() = std::make_unique<Workplace>();
    at()->write("s.toml", schema());
    std::string other = schema();
    other.replace(other.find("\"user\""), 6, "\"shop\"");
    at()->write("other.toml", other);
    std::string wider = schema();
    wider.replace(wider.find("300"), 3, "301");
    at()->write("wider.toml", wider);
    at()->write("a.csv", user_lines(1000));
    at()->write("b.csv", user_lines(1200, 5));
    at()->write("short.key", "abc");
    at()->write("some.key", "a passphrase of some length");
    at()->write("other.key", "another passphrase of length");
    const auto convert = [](const Words& words) {
      ASSERT_EQ(at()->run(Words{"convert", "csv", "--quiet"} + words).code, 0);
    };
    convert({"--schema", "s.toml", "a.csv", "today.ldp"});
    convert({"--schema", "today.ldp", "b.csv", "tomorrow.ldp"});
    convert({"--schema", "other.toml", "b.csv", "columns.ldp"});
    convert({"--schema", "wider.toml", "b.csv", "wider.ldp"});
    convert({"--schema", "s.toml", "--salt", "9", "b.csv", "salted.ldp"});
    const Words train = {"train",   "--quiet", "--data",    "today.ldp", "--steps",     "8",
                         "--batch", "50",      "--threads", "1",         "--calibrate", "off"};
    const auto begin = [&](const Words& words) {
      const Ran ran = at()->run(train + words);
      ASSERT_EQ(ran.code, 0) << ran.err;
    };
    begin({"--epsilon", "3", "--out", "budget", "--no-release", "--checkpoint-every", "5"});
    begin({"--epsilon", "3", "--out", "budget-released"});
    begin({"--noise-multiplier", "2", "--out", "noise", "--no-release"});
    begin({"--noise-multiplier", "2", "--out", "noise-released"});
    begin({"--noise-multiplier", "2", "--out", "locked", "--no-release", "--key-file", "some.key"});
  }
  static void TearDownTestSuite() { at().reset(); }

  // Each is refused in one line, and the folder is what it was, byte for byte.
  static void refuse(const std::string& run, const std::vector<Bad>& all) {
    const auto before = all_of(*at() / run);
    for (const Bad& bad : all) {
      const Words words = Words{"resume", run, "--quiet"} + bad.flags;
      std::string command;
      for (const std::string& word : words) command += word + " ";
      const Ran ran = at()->run(words);
      EXPECT_EQ(ran.code, bad.code) << command << ran.err;
      EXPECT_EQ(ran.error_lines(), 1u) << command << ran.err;
      EXPECT_NE(ran.err.find(bad.says), std::string::npos) << command << ran.err;
      ASSERT_EQ(all_of(*at() / run), before) << command;
    }
  }

  // A copy of it can still be resumed, trained further and released.
  static void expect_usable(const std::string& run, bool finished, const Words& more = {}) {
    const std::string copy = run + "-copy";
    fs::copy(*at() / run, *at() / copy, fs::copy_options::recursive);
    const Ran again = at()->run(Words{"resume", copy, "--quiet"} + more);
    EXPECT_EQ(again.code, finished ? 2 : 0) << again.err;
    const Ran out = at()->run(Words{"release", copy, "--quiet"} + more);
    EXPECT_EQ(out.code, 0) << out.err;
    const Ran longer = at()->run(Words{"resume", copy, "--quiet", "--more-steps", "2",
                                       "--noise-multiplier", "4", "--branch", "--epsilon", "9"} +
                                 more);
    EXPECT_EQ(longer.code, 0) << longer.err;
    EXPECT_EQ(at()->run(Words{"release", copy, "--quiet"} + more).code, 0);
    const auto card = nlohmann::json::parse(contents(*at() / (copy + "/model/card.json")));
    int steps = 0;
    for (const auto& event : card["ledger"]) steps += event["steps"].get<int>();
    EXPECT_EQ(steps, 10);
  }

  // Returns the commands that are wrong for every run.
  static std::vector<Bad> always() {
    return {
        {{"--steps", "5"}, 2, "has taken 8"},
        {{"--steps", "5", "--branch"}, 2, "has taken 8"},
        {{"--epochs", "0.2"}, 2, "which makes 4 steps, but the run has taken 8"},
        {{"--epochs", "0.2", "--branch"}, 2, "--more-epochs X"},
        {{"--data", "tomorrow.ldp", "--epsilon", "4", "--epochs", "0.3", "--branch"},
         2,
         "has taken 8"},
        {{"--epsilon", "0.01", "--noise-multiplier", "2", "--more-steps", "3", "--branch"},
         3,
         "pays for not one more step"},
        {{"--data", "nowhere.ldp", "--more-steps", "3", "--branch"}, 4, "nowhere.ldp"},
        {{"--data", "s.toml", "--more-steps", "3", "--branch"}, 2, "is not a LazyDP data file"},
        {{"--data", "columns.ldp", "--more-steps", "3", "--branch", "--noise-multiplier", "3",
          "--epsilon", "9"},
         2,
         "column 'shop' stands where column 'user' is expected"},
        {{"--data", "wider.ldp", "--more-steps", "3", "--branch", "--noise-multiplier", "3",
          "--epsilon", "9"},
         2,
         "another shape"},
        {{"--data", "salted.ldp", "--more-steps", "3", "--branch", "--noise-multiplier", "3",
          "--epsilon", "9"},
         2,
         "salts"},
        {{"--data", "tomorrow.ldp", "--more-steps", "3"}, 3, "--branch"},
        {{"--key-file", "nowhere.key", "--more-steps", "3"}, 4, "nowhere.key"},
        {{"--key-file", "short.key", "--more-steps", "3"}, 2, "at least 8"},
        {{"--more-steps", "0"}, 2, "more-steps is '0'"},
        {{"--more-steps", "x"}, 2, "more-steps is 'x'"},
        {{"--more-steps", "4294967290"}, 2, "more-steps is"},
        {{"--more-epochs", "-1"}, 2, "more-epochs is '-1'"},
        {{"--more-epochs", "1e12"}, 2, "at most"},
        {{"--more-steps", "3", "--steps", "11"}, 2, "give one of the two"},
        {{"--more-steps", "3", "--epochs", "2"}, 2, "give one of the two"},
        {{"--more-epochs", "3", "--steps", "90"}, 2, "give one of the two"},
        {{"--more-epochs", "3", "--more-steps", "3"}, 2, "give one of the two"},
        {{"--dim", "8", "--more-steps", "3", "--branch", "--noise-multiplier", "3", "--epsilon",
          "9"},
         2,
         "another shape"},
        {{"--table-storage", "file:tables", "--more-steps", "3", "--branch", "--noise-multiplier",
          "3", "--epsilon", "9"},
         2,
         "without --table-storage"},
        {{"--delta", "0.5", "--more-steps", "3", "--branch"}, 2, "below 1 /"},
        {{"--algorithm", "none", "--more-steps", "3", "--branch"}, 2, "none"},
        {{"--lr", "-1", "--more-steps", "3", "--branch"}, 2, "lr is '-1'"},
        {{"--clip-norm", "2", "--more-steps", "3"}, 3, "clip_norm was"},
        {{"--no-such-flag"}, 2, "no-such-flag"},
    };
  }

  // The folder that all tests here share.
  static std::unique_ptr<Workplace>& at() {
    static std::unique_ptr<Workplace> place;
    return place;
  }
};

TEST_F(RefusedResume, OfARunUnderABudgetChangesNothing) {
  refuse("budget", always());
  refuse("budget", {{{"--epsilon", "4", "--branch"}, 2, "there are none"},
                    {{"--epsilon", "4", "--steps", "8", "--branch"}, 2, "there are none"},
                    {{"--epsilon", "1e12", "--more-steps", "3", "--branch"}, 2, "even a noise"},
                    {{"--epsilon", "2", "--more-steps", "3", "--branch"}, 3, "no noise is enough"},
                    {{"--more-steps", "3"}, 3, "--branch"},
                    {{"--sampling", "shuffled", "--more-steps", "3", "--branch"}, 3, "shuffled"}});
  expect_usable("budget", false);
}

TEST_F(RefusedResume, OfAReleasedRunUnderABudgetChangesNothing) {
  refuse("budget-released", always());
  refuse("budget-released",
         {{{}, 2, "is finished after 8 steps"},
          {{"--epsilon", "4", "--branch"}, 2, "there are none"},
          {{"--epsilon", "2", "--more-steps", "3", "--branch"}, 3, "no noise is enough"}});
  expect_usable("budget-released", true);
}

TEST_F(RefusedResume, OfARunWithGivenNoiseChangesNothing) {
  refuse("noise", always());
  refuse("noise", {{{"--more-steps", "3"}, 3, "steps was 8 and is 11"},
                   {{"--steps", "8", "--noise-multiplier", "5", "--branch"}, 2, "has taken 8"}});
  expect_usable("noise", false);
}

TEST_F(RefusedResume, OfAReleasedRunWithGivenNoiseChangesNothing) {
  refuse("noise-released", always());
  refuse("noise-released", {{{"--steps", "8"}, 2, "is finished"},
                            {{"--delta", "1e-9", "--branch"}, 2, "is finished"},
                            {{"--noise-multiplier", "5", "--branch"}, 2, "is finished"}});
  expect_usable("noise-released", true);
}

TEST_F(RefusedResume, WithAnotherKeyOrNoneChangesNothing) {
  const Words more = {"--more-steps", "3", "--branch", "--noise-multiplier", "3"};
  const auto before = all_of(*at() / "locked");
  for (const Words& key : {Words{}, Words{"--key-file", "other.key"}}) {
    EXPECT_NE(at()->run(Words{"resume", "locked", "--quiet"} + more + key).code, 0);
    ASSERT_EQ(all_of(*at() / "locked"), before);
  }
  EXPECT_NE(at()->run(Words{"resume", "noise", "--quiet", "--key-file", "some.key"} + more).code,
            0);
  expect_usable("locked", false, {"--key-file", "some.key"});
}

// Damage beside the checkpoint is found before the state is settled for other settings.
TEST_F(RefusedResume, WhereSomethingElseIsDamagedChangesNothing) {
  for (const char* name : {"metrics.jsonl", "model/card.json"}) {
    fs::copy(*at() / "noise-released", *at() / "damaged", fs::copy_options::recursive);
    at()->write(std::string("damaged/") + name, "no\nJSON\n");
    const auto before = all_of(*at() / "damaged");
    const Ran ran = at()->run({"resume", "damaged", "--quiet", "--more-steps", "3", "--branch",
                               "--noise-multiplier", "3"});
    EXPECT_NE(ran.code, 0) << name;
    EXPECT_EQ(all_of(*at() / "damaged"), before) << name << ran.err;
    fs::remove_all(*at() / "damaged");
  }
}

TEST_F(RefusedResume, MoreStepsAndEpochsComeOnTopOfThoseTaken) {
  const auto steps_of = [](const std::string& run) {
    const auto card = nlohmann::json::parse(contents(*at() / (run + "/model/card.json")));
    std::vector<int> steps;
    for (const auto& event : card["ledger"]) steps.push_back(event["steps"]);
    return steps;
  };
  // Runs continue as they are only from a settled state, or under the same settings.
  fs::copy(*at() / "noise-released", *at() / "more", fs::copy_options::recursive);
  Ran ran = at()->run({"resume", "more", "--quiet", "--more-steps", "3"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(steps_of("more"), std::vector<int>{11});
  EXPECT_NE(contents(*at() / "more/config.toml").find("steps = \"11\""), std::string::npos);
  ran = at()->run({"resume", "more", "--quiet", "--more-epochs", "0.5"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(steps_of("more"), std::vector<int>{20}) << "half of 906 examples by 50 is nine steps";
  // Otherwise: with a larger budget, of which what was spent counts.
  fs::copy(*at() / "budget-released", *at() / "other", fs::copy_options::recursive);
  ran = at()->run({"resume", "other", "--quiet", "--data", "tomorrow.ldp", "--epsilon", "5",
                   "--more-epochs", "0.5", "--branch"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::vector<int> taken = steps_of("other");
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0], 8);
  EXPECT_EQ(taken[1], 11);
  const auto card = nlohmann::json::parse(contents(*at() / "other/model/card.json"));
  EXPECT_LE(card["claim"]["epsilon"].get<double>(), 5.0);
  EXPECT_GT(card["claim"]["epsilon"].get<double>(), 4.9);
}

// Held out by position in another way than now, by versions before the hash: said in words.
TEST(OldRun, ThatHeldOutTheLastExamplesIsRefused) {
  const auto settings = [](const char* split, int examples) {
    return Json{{"data", {{"data_checksum", "1"}, {"split", split}}}, {"examples", examples}};
  };
  const Json now = settings("by the hash of position, 10 % held out", 906);
  const auto refused = [&](const Json& before) -> std::string {
    try {
      require_same_settings(before, now);
    } catch (const PrivacyError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refused(settings("by position, 10 % held out", 900)).find("an earlier version"),
            std::string::npos);
  EXPECT_NE(refused(settings("by position", 1000)).find("other settings"), std::string::npos);
  EXPECT_EQ(refused(now), "");
}

}  // namespace
}  // namespace lazydp::cli
