// lazydp train --calibrate: scores that are probabilities, on every way out of a run.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/cli/program.h"
#include "tests/cli/user_data.h"

namespace lazydp::cli {
namespace {

// A log in a file; budgets that leave something to learn of a few thousand lines.
class CalibratedRun : public testing::Test {
 protected:
  CalibratedRun() {
    place_.write("s.toml", kUserSchema);
    place_.write("log.csv", user_lines(6000));
    place_.run({"convert", "csv", "--schema", "s.toml", "log.csv", "log.ldp"});
  }

  nlohmann::json train(const Words& more) const {
    return place_.json(
        Words{"train", "log.ldp", "--test", "0.2", "--epochs", "6", "--batch", "256"} + more);
  }
  nlohmann::json card(const std::string& run) const {
    return nlohmann::json::parse(contents(place_ / run / "model/card.json"));
  }
  // The mean log-loss that `lazydp eval` finds.
  double evaluated(const std::string& run) const {
    return place_.json({"eval", run, "log.ldp", "--test", "0.2"}).at("logloss");
  }

  Workplace place_;
};

TEST_F(CalibratedRun, ReleasesTheScoresThatItWasJudgedBy) {
  const auto numbers = train({"--out", "run"});
  ASSERT_TRUE(numbers.at("score_scaling").is_object()) << place_.last().err;
  EXPECT_EQ(card("run").at("model").at("score_scaling"), numbers.at("score_scaling"));
  EXPECT_NEAR(evaluated("run"), numbers.at("logloss").get<double>(), 1e-6);
}

// By far less than the log-loss without it differs from the best constant's.
TEST_F(CalibratedRun, HasTheBetterLogLoss) {
  const Words often = {"--clip-norm", "0.05", "--lr", "300", "--seed", "1"};
  const double with = train(often).at("logloss");
  const double without = train(often + Words{"--calibrate", "off"}).at("logloss");
  EXPECT_LT(with, without);
}

TEST_F(CalibratedRun, PaysForItWithinTheBudget) {
  const auto numbers = train({"--epsilon", "4", "--out", "run"});
  EXPECT_LE(numbers.at("epsilon").get<double>(), 4.0);
  const auto ledger = card("run").at("ledger");
  ASSERT_EQ(ledger.size(), 2u);
  EXPECT_EQ(ledger[1].at("mechanism"), "gaussian");
  EXPECT_EQ(ledger[1].at("steps"), 1);
  EXPECT_EQ(place_.run({"verify", "run"}).code, 0);
  const auto without = train({"--epsilon", "4", "--calibrate", "off"});
  EXPECT_LT(without.at("noise_multiplier").get<double>(),
            numbers.at("noise_multiplier").get<double>());
}

TEST_F(CalibratedRun, LeavesScoresAsTheyAreWithoutIt) {
  const auto numbers = train({"--calibrate", "off", "--out", "run"});
  EXPECT_TRUE(numbers.at("score_scaling").is_null());
  EXPECT_FALSE(card("run").at("model").contains("score_scaling"));
  EXPECT_EQ(card("run").at("ledger").size(), 1u);
}

TEST_F(CalibratedRun, IsRefusedWhereItsCostIsNotKnown) {
  train({"--calibrate", "on", "--sampling", "stream"});
  EXPECT_EQ(place_.last().code, 2);
  EXPECT_NE(place_.last().err.find("--calibrate off"), std::string::npos) << place_.last().err;
  train({"--sampling", "stream"});
  EXPECT_EQ(place_.last().code, 0) << place_.last().err;
}

// Saved after its last step, released later, from the folder alone.
TEST_F(CalibratedRun, KeepsItsScalingUntilItIsReleased) {
  const auto numbers = train({"--no-release", "--out", "run"});
  ASSERT_EQ(place_.run({"release", "run"}).code, 0);
  EXPECT_EQ(card("run").at("model").at("score_scaling"), numbers.at("score_scaling"));
}

// Steps change what was counted: more of them are followed by other counts, which cost again.
TEST_F(CalibratedRun, CountsAgainAfterMoreSteps) {
  const auto first = train({"--no-release", "--out", "run"});
  const auto second =
      place_.json({"resume", "run", "--more-epochs", "2", "--epsilon", "12", "--branch"});
  ASSERT_EQ(place_.last().code, 0) << place_.last().err;
  EXPECT_NE(second.at("score_scaling"), first.at("score_scaling"));
  ASSERT_EQ(place_.run({"release", "run"}).code, 0);
  const auto ledger = card("run").at("ledger");
  EXPECT_EQ(ledger.back().at("mechanism"), "gaussian");
  EXPECT_EQ(std::ranges::count_if(ledger, [](const auto& e) { return e.contains("mechanism"); }),
            2);
  EXPECT_NEAR(evaluated("run"), second.at("logloss").get<double>(), 1e-6);
}

// As of a version that did not know of it: nothing is spent that the run did not plan.
TEST_F(CalibratedRun, GoesOnWithoutItIfItBeganWithout) {
  train({"--calibrate", "off", "--no-release", "--out", "run"});
  place_.shell("sed -i /calibrate/d run/config.toml");
  const auto numbers = place_.json({"resume", "run"});
  EXPECT_EQ(place_.last().code, 0) << place_.last().err;
  EXPECT_TRUE(numbers.at("score_scaling").is_null());
}

}  // namespace
}  // namespace lazydp::cli
