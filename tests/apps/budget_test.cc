// Runs under a budget, and what they would claim, need and take.

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/apps/program.h"

namespace lazydp::apps {
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
                                                "--noise-multiplier", "0.3", "--delta", "1e-7"}));
  ASSERT_EQ(at.last().code, 0) << at.last().err;
  EXPECT_EQ(stopped["budget"]["spent"], true);
  EXPECT_LT(stopped["steps"].get<int>(), 500);
  EXPECT_LE(stopped["epsilon"].get<double>(), 1.0);
  EXPECT_NE(at.last().out.find("before the one that would exceed it"), std::string::npos);

  const Ran none =
      train(at, {"--epsilon", "0.001", "--noise-multiplier", "0.25", "--delta", "1e-7"});
  EXPECT_EQ(none.code, 3);
  EXPECT_NE(none.err.find("not one more step"), std::string::npos) << none.err;
  EXPECT_EQ(train(at, {"--epsilon", "0.001", "--noise-multiplier", "0.25", "--dry-run"}).code, 3);
  EXPECT_EQ(train(at, {"--epsilon", "1", "--sampling", "shuffled"}).code, 3);
  EXPECT_EQ(train(at, {"--epsilon", "0"}).code, 2);
  EXPECT_EQ(train(at, {"--epsilon", "1", "--algorithm", "eana"}).code, 3);
}

// Where nothing is claimed, a budget may have been kept but nobody may read that it protects.
TEST(Budget, IsNoClaimUnderAFixedSeedButStillEndsTheRun) {
  const Workplace at;
  const Words noise = {"--epsilon", "1", "--noise-multiplier", "0.3", "--delta", "1e-7"};
  const Ran stopped = at.run(tiny({"train", "--seed", "3", "--steps", "500"}, noise));
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_NE(stopped.out.find("before the one that would exceed it"), std::string::npos)
      << stopped.out;
  const Ran chosen = at.run(tiny({"train", "--seed", "3", "--steps", "5", "--epsilon", "2"}));
  EXPECT_NE(chosen.out.find("which is not claimed"), std::string::npos) << chosen.out;
  EXPECT_EQ(chosen.out.find("was chosen to meet it"), std::string::npos);
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
}  // namespace lazydp::apps
