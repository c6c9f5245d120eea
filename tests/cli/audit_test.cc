// lazydp audit, as a user runs it.

#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

struct Told {
  Ran ran;
  nlohmann::json json;
};

// What the program says, and the same in numbers.
Told told(const Workplace& place, const Words& words) {
  const Ran ran = place.run(words + Words{"--json", "numbers.json"});
  return {ran, nlohmann::json::parse(contents(place / "numbers.json"))};
}

TEST(AuditVerb, CatchesEanaWithoutCallingItABrokenClaim) {
  const Workplace place;
  const auto [ran, json] =
      told(place, {"audit", "--algorithm", "eana", "--runs", "1000", "--seed", "1"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(json.at("claims"), false);
  EXPECT_EQ(json.at("caught"), true);
  EXPECT_GT(json.at("proven_epsilon"), json.at("stated_epsilon"));
  EXPECT_NE(ran.out.find("believing that would be wrong"), std::string::npos);
}

TEST(AuditVerb, SaysWhatItProvesAndForWhom) {
  const Workplace place;
  const auto [ran, json] = told(place, {"audit", "--runs", "1200", "--steps", "2", "--epsilon", "4",
                                        "--delta", "1e-4", "--canary", "repeated"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(json.at("algorithm"), "lazydp");
  EXPECT_EQ(json.at("claims"), true);
  EXPECT_EQ(json.at("caught"), false);
  EXPECT_NEAR(json.at("stated_epsilon"), 4.0, 0.01);
  EXPECT_EQ(json.at("verdict"), "stands");
  EXPECT_EQ(json.at("runs_with"), 600);
  for (const char* text :
       {"stands", "confidence", "knows the program", "runs without the canary"}) {
    EXPECT_NE(ran.out.find(text), std::string::npos) << text;
  }
}

// For "499 false alarms in 500 runs" it once printed that the claim stands.
TEST(AuditVerb, NeverSaysOfTooFewRunsThatTheClaimStands) {
  const Workplace place;
  const auto [ran, json] = told(place, {"audit", "--runs", "1000", "--seed", "1"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(json.at("verdict"), "nothing");
  EXPECT_GT(json.at("runs_needed"), 1000);
  EXPECT_EQ(ran.out.find("stands"), std::string::npos);
  EXPECT_NE(ran.out.find("this audit can say nothing"), std::string::npos);
  EXPECT_NE(ran.out.find("at least 6,784 runs"), std::string::npos);
}

TEST(AuditVerb, TakesEverythingThatHappensInARun) {
  const Workplace place;
  const auto [ran, json] =
      told(place, {"audit", "--runs", "200", "--epsilon", "8", "--steps", "6", "--sampling-rate",
                   "0.5", "--lr-schedule", "cosine", "--eval-every", "2", "--checkpoint-every", "3",
                   "--table-storage", "file:tables", "--canary", "person"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json.at("sampling_rate"), 0.5);
  EXPECT_NE(json.at("verdict"), "broken");
  for (const char* text :
       {"cosine", "evaluated every 2", "resumed every 3", "tables in files", "persons sampled"}) {
    EXPECT_NE(ran.out.find(text), std::string::npos) << text;
  }
  EXPECT_TRUE(std::filesystem::is_empty(place / "tables"));  // nothing secret stays behind
}

TEST(AuditVerb, TakesCorrelatedNoise) {
  const Workplace place;
  const auto [ran, json] = told(place, {"audit", "--runs", "200", "--epsilon", "8", "--correlation",
                                        "lambda:0.9", "--lr-schedule", "linear"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(json.at("correlation"), "lambda:0.9");
  EXPECT_NE(ran.out.find("lambda:0.9"), std::string::npos);
}

TEST(AuditVerb, InOneRunLetsLazyDpStandAndFindsEana) {
  const Workplace place;
  const auto clean = place.json({"audit", "--one-run", "--seed", "1"});
  EXPECT_EQ(place.last().code, 0);
  EXPECT_EQ(clean.at("verdict"), "stands");
  EXPECT_EQ(clean.at("canaries"), 32768);
  const auto eana = place.json({"audit", "--one-run", "--algorithm", "eana", "--seed", "1"});
  EXPECT_EQ(place.last().code, 0);  // it claims nothing
  EXPECT_EQ(eana.at("verdict"), "broken");
  EXPECT_LT(eana.at("p_value"), 1e-6);
}

TEST(AuditVerb, RefusesFlagsOfTheOtherKind) {
  const Workplace place;
  EXPECT_EQ(place.run({"audit", "--one-run", "--runs", "1000"}).code, 2);
  EXPECT_EQ(place.run({"audit", "--canaries", "1000"}).code, 2);
  EXPECT_EQ(place.run({"audit", "--one-run", "--correlation", "lambda"}).code, 2);
  EXPECT_EQ(place.run({"audit", "--correlation", "lambda", "--canary", "person"}).code, 2);
  const Ran impossible = place.run({"audit", "--one-run", "--canaries", "16"});
  EXPECT_EQ(impossible.code, 2);
  EXPECT_NE(impossible.err.find("even if the attack were always right"), std::string::npos);
}

}  // namespace
}  // namespace lazydp::cli
