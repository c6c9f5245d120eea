// The program's screens that do no work.

#include "tests/cli/program.h"

#include <gtest/gtest.h>

#include <array>

#include "lazydp/train/recipe.h"

namespace lazydp::cli {
namespace {

constexpr std::array kVerbs = {"train",         "bench steps",   "demo",          "privacy epsilon",
                               "privacy noise", "privacy steps", "privacy delta", "privacy curve",
                               "audit",         "algorithms"};

TEST(Program, WithoutWordsShowsItsVerbsAndExitsTwo) {
  const Ran ran = Workplace().run({});
  EXPECT_EQ(ran.code, 2);
  for (const char* verb : kVerbs) EXPECT_NE(ran.err.find(verb), std::string::npos) << verb;
}

TEST(Program, HelpShowsAnExampleOfEveryVerb) {
  const Ran ran = Workplace().run({"--help"});
  EXPECT_EQ(ran.code, 0);
  for (const char* verb : kVerbs) {
    EXPECT_NE(ran.out.find(std::string("      lazydp ") + verb), std::string::npos) << verb;
  }
}

TEST(Program, HelpOfAVerbShowsItsFlagsAndAnExample) {
  const Ran ran = Workplace().run({"train", "--help"});
  EXPECT_EQ(ran.code, 0);
  for (const char* text : {"--noise-multiplier", "--pooling-mode", "Example:", "lazydp train"}) {
    EXPECT_NE(ran.out.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(ran.out.find("--rounds"), std::string::npos) << "a flag of another verb";
}

TEST(Program, TellsItsVersion) {
  const Ran ran = Workplace().run({"--version"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out.substr(0, 7), "lazydp ");
}

TEST(Program, ListsAllAlgorithmsAndWhyTwoClaimNothing) {
  const Ran ran = Workplace().run({"algorithms"});
  EXPECT_EQ(ran.code, 0);
  for (const Recipe& recipe : kRecipes) {
    EXPECT_NE(ran.out.find(std::string(recipe.name).append("  ")), std::string::npos);
    EXPECT_NE(ran.out.find(recipe.no_claim), std::string::npos);
  }
}

}  // namespace
}  // namespace lazydp::cli
