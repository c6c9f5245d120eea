// lazydp tune, as a user runs it.

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "lazydp/cli/search/search_folder.h"
#include "lazydp/cli/search/search_plan.h"
#include "lazydp/privacy/ledger_json.h"
#include "lazydp/privacy/private_selection.h"
#include "lazydp/privacy/rdp.h"
#include "tests/cli/child.h"
#include "tests/cli/program.h"
#include "tests/cli/user_data.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

// Four candidates of two kinds that train in no time.
constexpr const char* kGrid = "steps = [4, 6]\nbatch = 64\nlr = [0.1, 1]\n";

// 6002 examples: thirty of each of 200 users, and two without a user.
void write_data(const Workplace& at, int positive) {
  at.write("s.toml", kUserSchema);
  at.write("a.csv", user_lines(6000, 0, positive) + kTwoLinesWithoutUser);
  ASSERT_EQ(at.run({"convert", "csv", "--quiet", "--schema", "s.toml", "a.csv", "a.ldp"}).code, 0);
}

class Tune : public ::testing::Test {
 protected:
  Tune() {
    place_.write("grid.toml", kGrid);
    write_data(place_, 20);
  }

  static Words with(const Words& more) {
    return Words{"tune", "--grid", "grid.toml", "--threads", "1", "--quiet"} + more;
  }
  static Words search(const std::string& out, const Words& more = {}) {
    return with(Words{"--data", "a.ldp", "--epsilon", "3", "--trials-mean", "4", "--out", out} +
                more);
  }
  nlohmann::json card(const std::string& out) const {
    return nlohmann::json::parse(contents(place_ / (out + "/model/card.json")));
  }

  const Workplace place_;
};

// Computes epsilon again from what the card says, and from nothing else but the grid.
TEST_F(Tune, TheCardsEpsilonIsTheBoundAndWithinTheBudget) {
  const Ran ran = place_.run(search("out", {"--json", "numbers.json"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto claim = card("out").at("claim");
  const double epsilon = claim.at("epsilon").get<double>();
  EXPECT_LE(epsilon, 3.0);
  EXPECT_GT(epsilon, 2.9);
  EXPECT_EQ(claim.at("accountant"), "rdp");
  const auto& search_on_card = claim.at("search");
  EXPECT_EQ(search_on_card.at("candidates"), 4);
  EXPECT_NEAR(search_on_card.at("expected_trials").get<double>(), 4, 1e-6);
  EXPECT_NE(search_on_card.at("statement").get<std::string>().find("private search"),
            std::string::npos);
  EXPECT_NE(claim.at("mechanism").get<std::string>().find("private search"), std::string::npos);

  const auto numbers = nlohmann::json::parse(contents(place_ / "numbers.json"));
  EXPECT_EQ(numbers.at("epsilon"), epsilon);
  const double each = numbers.at("candidate_epsilon").get<double>();
  EXPECT_LT(each, epsilon);
  PrivateSearch again{
      .trials = {search_on_card.at("eta").get<double>(), search_on_card.at("gamma").get<double>()},
      .candidates = 4,
      .training = {},
      .score_noise = search_on_card.at("score_noise_multiplier").get<double>()};
  const double rate = card("out").at("ledger").at(0).at("sampling_rate").get<double>();
  for (const std::uint64_t steps : {4, 6}) {
    // Steps, and the counts that calibrate scores: ten times the noise of the one Gaussian that the
    // steps about are.
    const auto training = [&](double noise) {
      Ledger ledger;
      ledger.record({rate, noise, steps});
      const double mu =
          std::sqrt(static_cast<double>(steps) *
                    std::min(1 / (noise * noise), rate * rate * std::expm1(1 / (noise * noise))));
      ledger.record(PrivacyEvent(Gaussian{10 / mu, 1}));
      return ledger;
    };
    const Budget budget = {each, claim.at("delta").get<double>()};
    const double noise = noise_for_budget(budget, training, Accountant::rdp);
    raise_to(rdp_curve(training(noise)), again.training);
  }
  EXPECT_DOUBLE_EQ(search_epsilon(again, claim.at("delta").get<double>()), epsilon);
}

TEST_F(Tune, LeavesTheModelAndNoTrial) {
  ASSERT_EQ(place_.run(search("out")).code, 0);
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(place_ / "out")) {
    left.insert(entry.path().filename().string());
  }
  EXPECT_EQ(left, (std::set<std::string>{"lock", "model", "search.secret"}));
  EXPECT_EQ(fs::status(place_ / "out").permissions(), fs::perms::owner_all);
  EXPECT_EQ(place_.run({"eval", "out", "a.ldp", "--test", "0.1", "--quiet"}).code, 0);
  EXPECT_TRUE(card("out").at("claim").at("search").at("trials").is_string()) << "a law, no number";

  const Ran again = place_.run(search("out"));
  EXPECT_EQ(again.code, 2);
  EXPECT_NE(again.err.find("finished search"), std::string::npos) << again.err;
  EXPECT_EQ(place_.run({"resume", "out"}).code, 2) << "nothing is left to go on from";
  EXPECT_EQ(place_.run({"release", "out"}).code, 2);
}

// A killed search goes on with the same number, candidates, keys and scores: it ends in the model
// that it would have ended in. The secret state of the first is the start of the second.
TEST_F(Tune, KilledAtAnyMomentEndsInTheSameModel) {
  const Words more = {"--trials-mean", "12", "--trials-eta", "1", "--checkpoint-every", "2"};
  Words words = with(Words{"--data", "a.ldp", "--epsilon", "3", "--out", "killed"} + more);
  const SearchPlan plan = [&] {
    FlagTexts given;
    given.grid = (place_ / "grid.toml").string();
    given.data = (place_ / "a.ldp").string();
    given.epsilon = "3";
    given.trials_mean = "12";
    given.trials_eta = "1";
    return plan_search(given);
  }();
  (void)SearchFolder::open((place_ / "killed").string(), plan.settings, plan.search.trials, {});
  fs::copy(place_ / "killed", place_ / "whole", fs::copy_options::recursive);
  Words whole = words;
  *std::ranges::find(whole, "killed") = "whole";
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = place_.run(whole);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;

  int kills = 0;
  for (int tries = 0; !fs::exists(place_ / "killed/model/card.json"); ++tries) {
    ASSERT_LT(tries, 60) << "it gets nowhere";
    Child child(place_, words);
    std::this_thread::sleep_for(all * (0.3 + 0.1 * (tries % 8)));
    child.send(tries % 2 == 0 ? SIGKILL : SIGTERM);
    if (child.wait() != 0) ++kills;
  }
  EXPECT_GT(kills, 0);
  EXPECT_EQ(weights(place_, "killed/model"), weights(place_, "whole/model"));
  EXPECT_EQ(card("killed"), card("whole"));
}

TEST_F(Tune, ADryRunSaysWhatItWouldCostAndMakesNothing) {
  const auto numbers = place_.json({"tune", "--grid", "grid.toml", "--data", "a.ldp", "--epsilon",
                                    "3", "--dry-run", "--out", "out"});
  ASSERT_EQ(place_.last().code, 0) << place_.last().err;
  EXPECT_NEAR(numbers.at("trials_mean").get<double>(), 10, 1e-6);
  EXPECT_LT(numbers.at("candidate_epsilon").get<double>(), 3);
  EXPECT_NEAR(numbers.at("score_std").get<double>(),
              numbers.at("score_noise_multiplier").get<double>() *
                  numbers.at("score_bound").get<double>() / numbers.at("scored").get<double>(),
              1e-12);
  EXPECT_FALSE(fs::exists(place_ / "out"));
  const Ran shown =
      place_.run({"tune", "--grid", "grid.toml", "--data", "a.ldp", "--epsilon", "3", "--dry-run"});
  EXPECT_NE(shown.out.find("10 expected"), std::string::npos) << shown.out;
  const auto lower = place_.json({"tune", "--grid", "grid.toml", "--data", "a.ldp", "--epsilon",
                                  "3", "--dry-run", "--trials-mean", "100"});
  EXPECT_LT(lower.at("candidate_epsilon").get<double>(),
            numbers.at("candidate_epsilon").get<double>())
      << "more trials leave less for each";
}

TEST_F(Tune, RefusesInOneLineAndLeavesNothing) {
  const auto refused = [&](const Words& words, int code, const std::string& said) {
    const Ran ran = place_.run(words);
    EXPECT_EQ(ran.code, code) << said << ": " << ran.err;
    EXPECT_EQ(ran.error_lines(), 1u) << ran.err;
    EXPECT_NE(ran.err.find(said), std::string::npos) << ran.err;
    EXPECT_FALSE(fs::exists(place_ / "out"));
  };
  const Words usual = {"--data", "a.ldp", "--epsilon", "3", "--out", "out"};
  refused(with({"--data", "a.ldp", "--out", "out"}), 2, "--epsilon");
  refused(with({"--data", "a.ldp", "--epsilon", "3"}), 2, "--out");
  refused({"tune", "--data", "a.ldp", "--epsilon", "3", "--out", "out"}, 2, "--grid");
  refused(with({"--data", "a.ldp", "--epsilon", "0.001", "--out", "out"}), 2, "no search");
  refused(with({"--data", "none.ldp", "--epsilon", "3", "--out", "out"}), 4, "none.ldp");
  refused(with({"--synthetic", "uniform", "--epsilon", "3", "--out", "out"}), 2,
          "nothing to learn");
  refused(with(usual + Words{"--trials-mean", "1"}), 2, "trials-mean");
  refused(with(usual + Words{"--trials-eta", "-1"}), 2, "trials-eta");
  refused(with(usual + Words{"--trials-eta", "x"}), 2, "trials-eta");
  refused(with(usual + Words{"--score-noise", "0"}), 2, "score-noise");
  refused(with(usual + Words{"--score-bound", "-1"}), 2, "score-bound");
  refused(with(usual + Words{"--validation", "0"}), 2, "validation");
  refused(with(usual + Words{"--validation", "a.ldp"}), 2, "validation");
  refused(with(usual + Words{"--delta", "0.1"}), 2, "delta");
  const auto grid = [&](const std::string& line, int code, const std::string& said) {
    place_.write("grid.toml", kGrid + line);
    refused(with(usual), code, said);
  };
  grid("epsilon = [1, 2]\n", 2, "sets epsilon");
  grid("noise-multiplier = 1\n", 2, "sets noise-multiplier");
  grid("data = \"b.ldp\"\n", 2, "sets data");
  grid("seed = 1\n", 3, "the seed was fixed");
  grid("algorithm = [\"lazydp\", \"sgd\"]\n", 3, "nothing can be claimed");
  grid("algorithm = [\"lazydp\", \"eana\"]\n", 3, "nothing can be claimed");
  grid("sampling = \"shuffled\"\n", 3, "nothing can be claimed");
  grid("clip-norm = [1, -1]\n", 2, "clip-norm");
  fs::remove(place_ / "grid.toml");
  refused(with(usual), 4, "grid.toml");
}

TEST_F(Tune, RefusesAFolderThatIsNotItsOwn) {
  fs::create_directory(place_ / "full");
  place_.write("full/notes.txt", "mine");
  Ran ran = place_.run(search("full"));
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(contents(place_ / "full/notes.txt"), "mine");

  FlagTexts given;
  given.grid = (place_ / "grid.toml").string();
  given.data = (place_ / "a.ldp").string();
  given.epsilon = "3";
  const SearchPlan plan = plan_search(given);
  (void)SearchFolder::open((place_ / "begun").string(), plan.settings, plan.search.trials, {});
  const std::string before = contents(place_ / "begun/search.secret");
  ran = place_.run(search("begun", {"--score-bound", "3"}));
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(ran.err.find("other settings"), std::string::npos) << ran.err;
  write_data(place_, 30);
  ran = place_.run(with({"--data", "a.ldp", "--epsilon", "3", "--out", "begun"}));
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_EQ(contents(place_ / "begun/search.secret"), before);
}

// A trial has no config.toml, and its checkpoints are of settings that no verb but tune has.
TEST_F(Tune, NoOtherVerbGoesOnWithATrial) {
  place_.write("grid.toml", "steps = 20000\nbatch = 64\n");
  Child child(place_, search("out", {"--checkpoint-every", "100"}));
  const fs::path checkpoints = place_ / "out/trials/1/checkpoint";
  for (int i = 0; i < 30'000 && (!fs::exists(checkpoints) || fs::is_empty(checkpoints)); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  child.send(SIGKILL);
  child.wait();
  ASSERT_FALSE(fs::is_empty(checkpoints));
  EXPECT_EQ(place_.run({"resume", "out/trials/1"}).code, 2);
  EXPECT_EQ(place_.run({"release", "out/trials/1"}).code, 2);
  EXPECT_FALSE(fs::exists(place_ / "out/trials/1/model"));
}

TEST_F(Tune, ProtectsUnitsUnderAKey) {
  place_.write("grid.toml", "steps = 3\nbatch = 20\nlr = [0.1, 1]\n");
  place_.write("key", "a passphrase of the owner");
  const Words words = search("out", {"--privacy-unit", "user", "--validation", "0.2", "--test", "0",
                                     "--key-file", "key", "--json", "numbers.json"});
  const Ran ran = place_.run(words);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto numbers = nlohmann::json::parse(contents(place_ / "numbers.json"));
  const auto data = card("out").at("data");
  EXPECT_EQ(numbers.at("scored").get<int>() + data.at("units").get<int>(), 202)
      << "every user is on one side, and counts once";
  EXPECT_NE(card("out").at("claim").at("unit").get<std::string>().find("one value of user"),
            std::string::npos);
  EXPECT_EQ(contents(place_ / "out/search.secret").find("candidates"), std::string::npos);
}

TEST_F(Tune, SearchesTheClickTask) {
  place_.write("grid.toml", "steps = 2\nbatch = 512\nlr = [5, 20]\n");
  const Ran ran = place_.run(
      with({"--synthetic", "click", "--epsilon", "8", "--trials-mean", "1.5", "--out", "out"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(card("out").at("claim").at("search").at("candidates"), 2);
}

}  // namespace
}  // namespace lazydp::cli
