// A run is told to stop.

#include <gtest/gtest.h>

#include "tests/cli/breakable_run.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

class Signals : public WithEitherStorage {};
INSTANTIATE_TEST_SUITE_P(Tables, Signals, storages(), storage_name);

TEST_P(Signals, ASignalIsAnsweredWithACheckpointAndHowToGoOn) {
  const Workplace at;
  constexpr int kSteps = 1500;
  ASSERT_EQ(at.run(run_of("whole", kSteps, GetParam().flags)).code, 0);
  fs::remove_all(at / "tables");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Child child(at, run_of("run", kSteps, GetParam().flags));
    ASSERT_TRUE(comes_true([&] { return !contents(at / "run/metrics.jsonl").empty(); }));
    child.send(signal);
    const int code = child.wait();
    ASSERT_EQ(code, 128 + signal) << child.err();
    EXPECT_NE(child.err().find("lazydp resume run"), std::string::npos) << child.err();
    EXPECT_TRUE(has_checkpoint(at, "run"));
    ASSERT_EQ(at.run({"resume", "run", "--quiet", "--threads", "1"}).code, 0);
    EXPECT_EQ(weights(at, "run/model"), weights(at, "whole/model"));
    fs::remove_all(at / "run");
    fs::remove_all(at / "tables");
  }
}

// A signal comes when all steps are taken, while rows are settled, the model is evaluated or
// written: the trained state is there, and continues to the same model.
TEST_P(Signals, ASignalAfterTheLastStepLosesNothing) {
  const Workplace at;
  constexpr int kSteps = 20;
  const auto large = [&](const std::string& out) {
    Words words = run_of(out, kSteps, GetParam().flags);
    *std::ranges::find(words, "4000,3000") = "200000,100000";
    return words;
  };
  ASSERT_EQ(at.run(large("whole")).code, 0);
  fs::remove_all(at / "tables");
  const auto all_taken = [&] {
    return contents(at / "run/metrics.jsonl").find("\"step\":20,") != std::string::npos;
  };
  Child child(at, large("run"));
  ASSERT_TRUE(comes_true(all_taken));
  child.send(SIGTERM);
  const int code = child.wait();
  if (code != 0) {
    ASSERT_EQ(code, 128 + SIGTERM) << child.err();
    EXPECT_NE(child.err().find("lazydp resume run"), std::string::npos) << child.err();
    EXPECT_TRUE(has_checkpoint(at, "run"));
    ASSERT_EQ(at.run({"resume", "run", "--quiet", "--threads", "1"}).code, 0);
  }
  EXPECT_EQ(weights(at, "run/model"), weights(at, "whole/model"));
}

TEST_P(Signals, WhoIsToldToHearNothingOfASignalGoesOn) {
  const Workplace at;
  Child child(at, run_of("run", 300, GetParam().flags), [] { signal(SIGHUP, SIG_IGN); });
  ASSERT_TRUE(comes_true([&] { return !contents(at / "run/metrics.jsonl").empty(); }));
  child.send(SIGHUP);
  EXPECT_EQ(child.wait(), 0) << child.err();
}

}  // namespace
}  // namespace lazydp::cli
