// Training in the order of the data, as a user does it: what is chosen, claimed, refused, and how a
// run goes on.

#include <gtest/gtest.h>

#include "lazydp/base/error.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/train/correlation_text.h"
#include "tests/cli/program.h"
#include "tests/cli/user_data.h"

namespace lazydp::cli {
namespace {

FlagTexts given(const std::vector<std::pair<Text FlagTexts::*, std::string>>& said) {
  FlagTexts all;
  for (const auto& [flag, text] : said) all.*flag = text;
  return all;
}

TEST(StreamOptions, OneEpochOfWindowsUnderTheBestLambda) {
  const RunOptions run =
      choose_run(given({{&FlagTexts::sampling, "stream"}, {&FlagTexts::batch, "1000"}}));
  EXPECT_EQ(run.sampling, Sampling::stream);
  EXPECT_EQ(run.plan.steps, 200u) << "one pass over 200,000 examples";
  EXPECT_EQ(run.places_a_step, 1000u);
  ASSERT_TRUE(run.plan.blocks.has_value());
  EXPECT_EQ(run.plan.blocks->separation, 200u);
  EXPECT_EQ(run.plan.blocks->sampling, BlockSampling::stream);
  const double lambda = best_lambda(Participation{.steps = 200, .separation = 200, .times = 1});
  EXPECT_EQ(run.plan.correlation, Correlation(lambda_bands(lambda)));
  const FlagTexts kept = with_choices(given({{&FlagTexts::correlation, "lambda"}}), run);
  EXPECT_EQ(kept.correlation, text_of(run.plan.correlation)) << "whatever the steps are later";
}

TEST(StreamOptions, EpochsAreWholeOnes) {
  const RunOptions run = choose_run(given({{&FlagTexts::sampling, "stream"},
                                           {&FlagTexts::batch, "7000"},
                                           {&FlagTexts::epochs, "3"},
                                           {&FlagTexts::correlation, "bisr:8"}}));
  EXPECT_EQ(run.plan.steps, 3u * 29u) << "29 windows, the last one short";
  EXPECT_EQ(run.plan.correlation, Correlation(bisr_bands(8)));
  const auto event = std::get<CorrelatedGaussian>(event_of(run.plan, 1));
  EXPECT_EQ(event.allowed, (Participation{.steps = 87, .separation = 29, .times = 3}));
}

TEST(StreamOptions, BallsInBinsFillWholeEpochs) {
  const RunOptions run = choose_run(given({{&FlagTexts::sampling, "balls-in-bins"},
                                           {&FlagTexts::batch, "3000"},
                                           {&FlagTexts::epochs, "2"}}));
  EXPECT_EQ(run.plan.blocks->separation, 67u);
  EXPECT_EQ(run.plan.steps, 134u);
  EXPECT_DOUBLE_EQ(run.plan.mechanism.expected_batch, 200'000.0 / 67.0);
  EXPECT_DOUBLE_EQ(run.plan.mechanism.sampling_rate, 1.0 / 67.0);
  EXPECT_TRUE(run.plan.correlation.independent()) << "unless it is asked for";
}

TEST(StreamOptions, WhatCannotBeCorrelatedHasIndependentNoise) {
  for (const char* algorithm : {"sgd", "eana"}) {
    const RunOptions run =
        choose_run(given({{&FlagTexts::sampling, "stream"}, {&FlagTexts::algorithm, algorithm}}));
    EXPECT_TRUE(run.plan.correlation.independent()) << algorithm;
  }
}

struct Refused {
  const char* what;
  Words flags;
  int code;
  std::vector<const char*> says;
};

TEST(StreamTraining, RefusesWhatIsNotKnownToBePrivate) {
  const Workplace place;
  const std::vector<Refused> all = {
      {"Poisson", {"--correlation", "lambda"}, 3, {"poisson", "--sampling stream"}},
      {"Shuffled", {"--sampling", "shuffled", "--correlation", "bisr:4"}, 3, {"shuffled"}},
      {"Eana",
       {"--sampling", "stream", "--correlation", "lambda", "--algorithm", "eana"},
       2,
       {"eana", "independent"}},
      {"Sgd",
       {"--sampling", "stream", "--correlation", "lambda", "--algorithm", "sgd"},
       2,
       {"adds no noise"}},
      {"Momentum",
       {"--sampling", "stream", "--correlation", "lambda", "--table-optimizer", "momentum"},
       2,
       {"momentum", "independent"}},
      {"NoiseSchedule",
       {"--sampling", "stream", "--noise-schedule", "linear"},
       2,
       {"noise-schedule", "one noise multiplier"}},
      {"Bands", {"--sampling", "stream", "--correlation", "bisr:65"}, 2, {"bisr:65", "64"}},
      {"Lambda", {"--sampling", "stream", "--correlation", "lambda:1"}, 2, {"lambda:1", "below 1"}},
      {"UnitsWithoutUnits",
       {"--sampling", "stream", "--unit-participations", "3"},
       2,
       {"unit-participations", "--privacy-unit"}},
      {"DisjointPoisson", {"--disjoint-data"}, 3, {"disjoint-data", "stream"}},
  };
  for (const Refused& refused : all) {
    const Ran ran = place.run(tiny({"train", "--quiet", "--steps", "2"}, refused.flags));
    EXPECT_EQ(ran.code, refused.code) << refused.what << ": " << ran.err;
    EXPECT_EQ(ran.error_lines(), 1u) << refused.what << ": " << ran.err;
    for (const char* text : refused.says) {
      EXPECT_NE(ran.err.find(text), std::string::npos) << refused.what << ": " << ran.err;
    }
  }
}

class StreamRun : public testing::Test {
 protected:
  void SetUp() override {
    place_.write("schema.toml", kUserSchema);
    place_.write("log.csv", user_lines(4000));
    const Ran ran =
        place_.run({"convert", "csv", "--quiet", "--schema", "schema.toml", "log.csv", "log.ldp"});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }

  // One pass of about 36 steps, each of 100 lines of which a tenth is held out.
  static Words train(const Words& more) {
    return Words{"train",  "--data",  "log.ldp", "--threads", "1", "--sampling",
                 "stream", "--batch", "90",      "--dim",     "4", "--bottom",
                 "1-8-4",  "--top",   "8-1",     "--quiet"} +
           more;
  }

  nlohmann::json card(const std::string& run) const {
    return nlohmann::json::parse(contents(place_ / (run + "/model/card.json")));
  }

  Workplace place_;
};

TEST_F(StreamRun, ClaimsTheBlockItIs) {
  const Ran ran = place_.run(train({"--epsilon", "4", "--out", "run"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto said = card("run");
  EXPECT_EQ(said["sampling"], "stream");
  EXPECT_LE(said["claim"]["epsilon"].get<double>(), 4.0);
  EXPECT_GT(said["claim"]["epsilon"].get<double>(), 3.99) << "a closed form leaves nothing over";
  const std::string mechanism = said["claim"]["mechanism"];
  for (const char* text : {"in the order of the data", "zero-out", "lambda:"}) {
    EXPECT_NE(mechanism.find(text), std::string::npos) << mechanism;
  }
  ASSERT_EQ(said["ledger"].size(), 1u);
  EXPECT_EQ(said["plan"]["participation"]["separation"], said["ledger"][0]["steps"]);
}

TEST_F(StreamRun, GoesOnWhereItStoppedBitForBit) {
  const Words seeded = {"--noise-multiplier", "1", "--seed", "5"};
  ASSERT_EQ(place_.run(train(seeded + Words{"--out", "whole"})).code, 0);
  const auto steps = card("whole")["ledger"][0]["steps"].get<int>();
  ASSERT_GT(steps, 30);
  // Ended by its file-size limit or by a signal, a run has a checkpoint; here it just stops early.
  const Ran first = place_.run(
      train(seeded + Words{"--out", "parts", "--checkpoint-every", "10", "--no-release"}));
  ASSERT_EQ(first.code, 0) << first.err;
  const Ran back = place_.run({"resume", "parts", "--previous", "--quiet", "--threads", "1"});
  ASSERT_EQ(back.code, 0) << back.err;
  ASSERT_EQ(place_.run({"release", "parts", "--quiet"}).code, 0);
  EXPECT_EQ(weights(place_, "parts/model"), weights(place_, "whole/model"));
}

// Another day's log begins at its first line, in a block of its own.
TEST_F(StreamRun, GoesOnWithTomorrowsLog) {
  place_.write("next.csv", user_lines(4000, 100));
  ASSERT_EQ(
      place_.run({"convert", "csv", "--quiet", "--schema", "log.ldp", "next.csv", "next.ldp"}).code,
      0);
  ASSERT_EQ(place_.run(train({"--noise-multiplier", "2", "--out", "run", "--disjoint-data"})).code,
            0);
  const auto today = card("run");
  const Ran same =
      place_.run({"resume", "run", "--quiet", "--branch", "--more-epochs", "1", "--disjoint-data"});
  EXPECT_EQ(same.code, 3) << same.err;
  EXPECT_NE(same.err.find("trained on before"), std::string::npos) << same.err;
  const Ran more = place_.run({"resume", "run", "--quiet", "--branch", "--data", "next.ldp",
                               "--more-epochs", "1", "--disjoint-data"});
  ASSERT_EQ(more.code, 0) << more.err;
  const auto both = card("run");
  ASSERT_EQ(both["ledger"].size(), 2u);
  EXPECT_EQ(both["ledger"][1]["steps"], today["ledger"][0]["steps"]);
  EXPECT_NEAR(both["claim"]["epsilon"].get<double>(), today["claim"]["epsilon"].get<double>(),
              1e-9);

  // What was declared of one block is not taken to hold for the next.
  const Ran again = place_.run(
      {"resume", "run", "--quiet", "--branch", "--data", "log.ldp", "--more-epochs", "1"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_GT(card("run")["claim"]["epsilon"], both["claim"]["epsilon"]);
}

TEST_F(StreamRun, ProtectsUnitsThatTakePartAFewTimes) {
  const Ran ran = place_.run(train({"--privacy-unit", "user", "--epsilon", "4", "--out", "run",
                                    "--unit-participations", "3", "--unit-gap", "5"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto said = card("run");
  EXPECT_EQ(said["plan"]["participation"]["times"], 3);
  EXPECT_EQ(said["plan"]["participation"]["separation"], 5);
  const std::string mechanism = said["claim"]["mechanism"];
  EXPECT_NE(mechanism.find("at most 3 steps, 5 or more apart"), std::string::npos) << mechanism;
  const Ran disjoint = place_.run(
      train({"--privacy-unit", "user", "--epsilon", "4", "--disjoint-data", "--steps", "2"}));
  EXPECT_EQ(disjoint.code, 3) << disjoint.err;
}

TEST_F(StreamRun, SaysBeforeTrainingWhatItWouldClaim) {
  const auto json = place_.json(train({"--epsilon", "4", "--dry-run"}));
  ASSERT_TRUE(json.contains("epsilon")) << place_.last().err;
  EXPECT_NEAR(json["epsilon"].get<double>(), 4.0, 0.01);
  EXPECT_GT(json["steps"], 30);
}

TEST_F(StreamRun, BallsInBinsTrainToo) {
  const auto json = place_.json({"train", "--data", "log.ldp", "--threads", "1", "--sampling",
                                 "balls-in-bins", "--batch", "90", "--epochs", "2",
                                 "--noise-multiplier", "2", "--correlation", "lambda"});
  ASSERT_TRUE(json.contains("epsilon")) << place_.last().err;
  EXPECT_EQ(json["sampling"], "balls-in-bins");
  EXPECT_GT(json["epsilon"], 0.0);
}

}  // namespace
}  // namespace lazydp::cli
