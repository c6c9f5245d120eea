// The ledger of a lifetime, as a user keeps one: days of training under one budget.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

nlohmann::json show(const Workplace& at) {
  return at.json({"ledger", "clicks.json"});
}

double spent(const Workplace& at) {
  return show(at).at("spent_or_reserved");
}

void make(const Workplace& at, const Words& more) {
  const Ran ran = at.run(Words{"ledger", "clicks.json", "--delta", "1e-6", "--quiet"} + more);
  ASSERT_EQ(ran.code, 0) << ran.err;
}

Ran train(const Workplace& at, const Words& more) {
  return at.run(
      tiny({"train", "--quiet", "--sampling", "stream", "--steps", "12", "--ledger", "clicks.json"},
           more));
}

// A day costs as much as the next one, and the year has room for so many.
TEST(LedgerVerb, DaysAddUpUntilTheBudgetIsSpent) {
  const Workplace at;
  make(at, {"--epsilon", "3"});
  EXPECT_EQ(spent(at), 0.0);
  const Words day = {"--ledger-runs", "3"};
  double before = 0.0;
  for (const char* folder : {"monday", "tuesday", "wednesday"}) {
    const Ran ran = train(at, day + Words{"--out", folder});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_GT(spent(at), before);
    before = spent(at);
  }
  EXPECT_NEAR(before, 3.0, 1e-6);
  const Ran ran = train(at, day + Words{"--out", "thursday"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_NE(ran.err.find("allows epsilon 3"), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(at / "thursday/model/model.safetensors"));
  EXPECT_EQ(spent(at), before);
}

TEST(LedgerVerb, DisjointDaysCostTheCostliest) {
  const Workplace at;
  make(at, {"--epsilon", "3", "--disjoint-data"});
  for (const char* name : {"monday", "tuesday"}) {
    const Ran ran = train(at, {"--noise-multiplier", "4", "--ledger-data", name, "--out", name});
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  const double one_day = spent(at);
  ASSERT_EQ(
      train(at, {"--noise-multiplier", "4", "--ledger-data", "monday", "--out", "again"}).code, 0);
  EXPECT_GT(spent(at), 1.2 * one_day);
}

// What a run plans is counted from before its first step; what it spent, once it is released.
TEST(LedgerVerb, ARunReservesBeforeItTrainsAndCountsWhatItReleases) {
  const Workplace at;
  make(at, {"--epsilon", "20"});
  ASSERT_EQ(train(at, {"--noise-multiplier", "4", "--out", "run", "--no-release"}).code, 0);
  auto runs = show(at).at("runs");
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_TRUE(runs[0].at("published").empty());
  EXPECT_EQ(runs[0].at("reserved")[0].at("steps"), 12);
  const double reserved = spent(at);
  ASSERT_EQ(at.run({"release", "run", "--quiet"}).code, 0) << at.last().err;
  runs = show(at).at("runs");
  EXPECT_EQ(runs[0].at("published")[0].at("steps"), 12);
  EXPECT_TRUE(runs[0].at("reserved").empty());
  EXPECT_NEAR(spent(at), reserved, 1e-9);
  // The run goes on: it is the same run, and its entry grows.
  ASSERT_EQ(at.run({"resume", "run", "--more-steps", "4", "--quiet"}).code, 0) << at.last().err;
  EXPECT_EQ(show(at).at("runs").size(), 1U);
  EXPECT_GT(spent(at), reserved);
}

TEST(LedgerVerb, WhatCameToNothingIsWithdrawn) {
  const Workplace at;
  make(at, {"--epsilon", "20"});
  ASSERT_EQ(train(at, {"--noise-multiplier", "4", "--out", "run", "--no-release"}).code, 0);
  const std::string run = show(at).at("runs")[0].at("run");
  fs::remove_all(at / "run");
  EXPECT_EQ(at.run({"ledger", "clicks.json", "--withdraw", "other"}).code, 2);
  EXPECT_EQ(at.run({"ledger", "clicks.json", "--withdraw", run}).code, 0);
  EXPECT_EQ(spent(at), 0.0);
  ASSERT_EQ(train(at, {"--noise-multiplier", "4", "--out", "run"}).code, 0);
  const std::string published = show(at).at("runs")[0].at("run");
  EXPECT_NE(published, run);  // another run in a folder of the same name
  EXPECT_EQ(at.run({"ledger", "clicks.json", "--withdraw", published}).code, 3);
}

TEST(LedgerVerb, RefusesRunsThatItCannotCount) {
  const Workplace at;
  make(at, {"--epsilon", "20"});
  const Ran fixed = train(at, {"--noise-multiplier", "4", "--out", "a", "--seed", "1"});
  EXPECT_EQ(fixed.code, 3) << fixed.err;
  EXPECT_NE(fixed.err.find("nothing can be claimed"), std::string::npos) << fixed.err;
  EXPECT_EQ(train(at, {"--noise-multiplier", "4"}).code, 2);  // no folder
  EXPECT_EQ(at.run(tiny({"train", "--quiet", "--steps", "2"}, {"--ledger-data", "x"})).code, 2);
  EXPECT_EQ(spent(at), 0.0);
}

TEST(LedgerVerb, MakesAFileOnceAndOfSoundTerms) {
  const Workplace at;
  EXPECT_EQ(at.run({"ledger", "none.json"}).code, 2);
  make(at, {"--epsilon", "3"});
  EXPECT_EQ(at.run({"ledger", "clicks.json", "--epsilon", "9", "--delta", "1e-6"}).code, 2);
  EXPECT_EQ(at.run({"ledger", "u.json", "--epsilon", "3", "--delta", "1e-6", "--privacy-unit",
                    "user", "--disjoint-data"})
                .code,
            2);
  at.write("bad.json", "{");
  EXPECT_EQ(at.run({"ledger", "bad.json"}).code, 4);
  EXPECT_FALSE(fs::exists(at / "u.json"));
}

}  // namespace
}  // namespace lazydp::cli
