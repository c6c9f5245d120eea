// lazydp audit, as a user runs it.

#include <gtest/gtest.h>

#include "tests/apps/program.h"

namespace lazydp::apps {
namespace {

TEST(AuditVerb, CatchesEanaWithoutCallingItABrokenClaim) {
  const Workplace place;
  const auto json = place.json({"audit", "--algorithm", "eana", "--runs", "1000", "--seed", "1"});
  EXPECT_EQ(place.last().code, 0);
  EXPECT_EQ(json.at("claims"), false);
  EXPECT_EQ(json.at("caught"), true);
  EXPECT_GT(json.at("proven_epsilon"), json.at("stated_epsilon"));
  EXPECT_NE(place.last().out.find("believing that would be wrong"), std::string::npos);
}

TEST(AuditVerb, SaysWhatItProvesAndForWhom) {
  const Workplace place;
  const auto json = place.json({"audit", "--runs", "400", "--steps", "2", "--epsilon", "4",
                                "--delta", "1e-4", "--canary", "repeated"});
  EXPECT_EQ(place.last().code, 0);
  EXPECT_EQ(json.at("algorithm"), "lazydp");
  EXPECT_EQ(json.at("claims"), true);
  EXPECT_EQ(json.at("caught"), false);
  EXPECT_NEAR(json.at("stated_epsilon"), 4.0, 0.01);
  EXPECT_EQ(json.at("runs_with"), 200);
  for (const char* text :
       {"stands", "confidence", "knows the program", "runs without the canary"}) {
    EXPECT_NE(place.last().out.find(text), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace lazydp::apps
