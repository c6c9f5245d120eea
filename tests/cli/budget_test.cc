// Runs under a budget, and the claims, needs and times that they announce.

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

Ran train(const Workplace& at, const Words& more) {
  return at.run(tiny({"train", "--quiet"}, more));
}

TEST(Budget, IsKeptAndSaidSo) {
  const Workplace at;
  const auto calibrated = at.json(tiny({"train"}, {"--steps", "20", "--epsilon", "2"}));
  ASSERT_EQ(at.last().code, 0) << at.last().err;
  EXPECT_LE(calibrated["epsilon"].get<double>(), 2.0);
  EXPECT_GT(calibrated["epsilon"].get<double>(), 1.95);
  EXPECT_EQ(calibrated["budget"]["noise_multiplier_calibrated"], true);

  const auto stopped = at.json(tiny({"train"}, {"--steps", "500", "--epsilon", "1",
                                                "--noise-multiplier", "0.3", "--delta", "1e-8"}));
  ASSERT_EQ(at.last().code, 0) << at.last().err;
  EXPECT_EQ(stopped["budget"]["spent"], true);
  EXPECT_LT(stopped["steps"].get<int>(), 500);
  EXPECT_LE(stopped["epsilon"].get<double>(), 1.0);
  const Ran said = at.run(tiny({"train"}, {"--steps", "500", "--epsilon", "1", "--noise-multiplier",
                                           "0.3", "--delta", "1e-8"}));
  EXPECT_NE(said.out.find("before the one that would exceed it"), std::string::npos);

  const Ran none =
      train(at, {"--epsilon", "0.001", "--noise-multiplier", "0.25", "--delta", "1e-8"});
  EXPECT_EQ(none.code, 3);
  EXPECT_NE(none.err.find("not one more step"), std::string::npos) << none.err;
  EXPECT_EQ(train(at, {"--epsilon", "0.001", "--noise-multiplier", "0.25", "--dry-run"}).code, 3);
  EXPECT_EQ(train(at, {"--epsilon", "1", "--sampling", "shuffled"}).code, 3);
  EXPECT_EQ(train(at, {"--epsilon", "0"}).code, 2);
  EXPECT_EQ(train(at, {"--epsilon", "1", "--algorithm", "eana"}).code, 3);
}

// Where nothing is claimed, a budget may have been kept, but nothing printed may suggest that it
// protects.
TEST(Budget, IsNoClaimUnderAFixedSeedButStillEndsTheRun) {
  const Workplace at;
  const Words noise = {"--epsilon", "1", "--noise-multiplier", "0.3", "--delta", "1e-8"};
  const Ran stopped = at.run(tiny({"train", "--seed", "3", "--steps", "500"}, noise));
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_NE(stopped.out.find("before the one that would exceed it"), std::string::npos)
      << stopped.out;
  const Ran chosen = at.run(tiny({"train", "--seed", "3", "--steps", "5", "--epsilon", "2"}));
  EXPECT_NE(chosen.out.find("which is not claimed"), std::string::npos) << chosen.out;
  EXPECT_EQ(chosen.out.find("was chosen to meet it"), std::string::npos);
}

// There are 7,000 examples: one in 7,000 is 1.43e-4.
TEST(Delta, ThatGivesSomebodyAwayIsRefusedUnlessForced) {
  const Workplace at;
  ASSERT_EQ(at.run({"generate", "--synthetic", "uniform", "--rows", "50,70", "--pooling", "3",
                    "--bottom", "13-16", "--examples", "7000", "a.ldp"})
                .code,
            0);
  at.write("grid.toml", "data = \"a.ldp\"\ntest = 0\nsteps = 2\ndelta = 0.1\n");
  const Words data = {"--data", "a.ldp", "--test", "0", "--steps", "2", "--batch", "50"};
  const Words privacy = {"--batch", "50", "--examples", "7000", "--steps", "2"};
  for (const char* delta : {"0.1", "1.43e-4", "0.000142857142857143", "0.99"}) {
    for (const Words& verb :
         {Words{"train", "--dry-run"} + data, Words{"train", "--out", "run"} + data,
          Words{"privacy", "epsilon", "--noise-multiplier", "1"} + privacy,
          Words{"privacy", "noise", "--epsilon", "1"} + privacy,
          Words{"privacy", "curve", "--noise-multiplier", "1"} + privacy}) {
      const Words words = verb + Words{"--delta", delta};
      const Ran refused = at.run(words);
      EXPECT_EQ(refused.code, 2) << refused.err;
      EXPECT_EQ(refused.error_lines(), 1u) << refused.err;
      EXPECT_NE(refused.err.find("it must be below 1 / 7,000"), std::string::npos) << refused.err;
      EXPECT_FALSE(std::filesystem::exists(at / "run"));
    }
  }
  EXPECT_EQ(at.run({"sweep", "grid.toml", "table.csv"}).code, 2);
  const Words large = {"--delta", "0.1", "--quiet"};
  EXPECT_EQ(at.run(Words{"privacy", "epsilon", "--noise-multiplier", "1", "--force"} + privacy +
                   Words{"--delta", "0.1"})
                .code,
            0);
  ASSERT_EQ(at.run(Words{"train", "--out", "run", "--no-release", "--force"} + data + large).code,
            0);
  EXPECT_EQ(at.run({"resume", "run", "--quiet"}).code, 0) << "its config.toml has the force";
  EXPECT_EQ(at.run({"release", "run", "--quiet"}).code, 0);
  EXPECT_EQ(at.run(Words{"train", "--delta", "1.42e-4", "--quiet"} + data).code, 0);
  EXPECT_EQ(at.run({"privacy", "epsilon", "--noise-multiplier", "1", "--sampling-rate", "0.1",
                    "--steps", "2", "--delta", "0.1"})
                .code,
            0)
      << "their number was not given";
  const auto usual = at.json({"privacy", "epsilon", "--noise-multiplier", "1", "--batch", "50",
                              "--examples", "10000000", "--steps", "2"});
  EXPECT_LT(usual["delta"].get<double>(), 1e-7) << "the default is below one in the examples too";
}

// A run that was begun before such a delta was refused continues, and is released, if the user
// insists.
TEST(Delta, OfAnOlderRunCanBeForced) {
  const Workplace at;
  ASSERT_EQ(at.run(tiny({"train", "--quiet", "--delta", "1e-4", "--force"},
                        {"--steps", "4", "--out", "run", "--no-release"}))
                .code,
            0);
  std::string config = contents(at / "run/config.toml");
  const std::size_t force = config.find("force");
  ASSERT_NE(force, std::string::npos);
  config.erase(force, config.find('\n', force) + 1 - force);
  at.write("run/config.toml", config);
  EXPECT_EQ(at.run({"resume", "run", "--quiet"}).code, 2);
  EXPECT_EQ(at.run({"release", "run", "--quiet"}).code, 2);
  EXPECT_EQ(at.run({"resume", "run", "--quiet", "--force"}).code, 0);
  at.write("run/config.toml", config);
  EXPECT_EQ(at.run({"release", "run", "--quiet", "--force"}).code, 0);
}

TEST(LargeEpsilon, IsRemarkedUponInOneLine) {
  const Workplace at;
  at.write(
      "grid.toml",
      "rows = \"50,70\"\ndim = 4\nbottom = \"13-8-4\"\ntop = \"8-1\"\npooling = 3\nbatch = 32\n"
      "steps = 2\nepsilon = [1, 30, 40]\n");
  const Words rate = {"--sampling-rate", "0.5", "--steps", "50"};
  const std::pair<Words, bool> all[] = {
      {tiny({"train", "--quiet", "--steps", "3", "--epsilon", "21"}), true},
      {tiny({"train", "--quiet", "--steps", "3", "--epsilon", "20"}), false},
      {tiny({"train", "--quiet", "--steps", "3", "--epsilon", "21", "--dry-run"}), true},
      {Words{"privacy", "noise", "--epsilon", "30"} + rate, true},
      {Words{"privacy", "noise", "--epsilon", "5"} + rate, false},
      {Words{"privacy", "epsilon", "--noise-multiplier", "0.4"} + rate, true},
      {Words{"privacy", "epsilon", "--noise-multiplier", "0"} + rate, false},  // says so itself
      {Words{"privacy", "curve", "--noise-multiplier", "0.4"} + rate, true},
      {{"sweep", "grid.toml", "table.csv", "--quiet"}, true},
  };
  for (const auto& [words, warned] : all) {
    const Ran ran = at.run(words);
    EXPECT_EQ(ran.code, 0) << words[0] << ran.err;
    EXPECT_EQ(ran.error_lines(), warned ? 1u : 0u) << words[0] << ran.err;
    EXPECT_EQ(ran.err.find("promises hardly anything") != std::string::npos, warned) << ran.err;
  }
  // No number of runs contradicts so large a claim: the remark comes before the refusal.
  const Ran audit = at.run({"audit", "--epsilon", "25", "--runs", "100", "--quiet"});
  EXPECT_EQ(audit.code, 2);
  EXPECT_NE(audit.err.find("promises hardly anything"), std::string::npos) << audit.err;
}

TEST(DryRun, SaysWhatARunWouldClaimNeedAndTake) {
  const Workplace at;
  const auto json = at.json(tiny({"train", "--dry-run"}, {"--steps", "50", "--out", "run"}));
  ASSERT_EQ(at.last().code, 0) << at.last().err;
  EXPECT_GT(json["epsilon"].get<double>(), 0.0);
  EXPECT_GT(json["memory_bytes"].get<double>(), 0.0);
  EXPECT_GT(json["seconds"].get<double>(), 0.0);
  EXPECT_FALSE(std::filesystem::exists(at / "run"));
}

}  // namespace
}  // namespace lazydp::cli
