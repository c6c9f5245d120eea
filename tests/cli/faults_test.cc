// Faults around a run: its disk fills, its files are damaged or vanish, memory is short.

#include <gtest/gtest.h>

#include <fstream>

#include "tests/cli/breakable_run.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

class Faults : public WithEitherStorage {};
INSTANTIATE_TEST_SUITE_P(Tables, Faults, storages(), storage_name);

// The head of a checkpoint is whole and its rows are not: that shows when they are read.
TEST_P(Faults, ADamagedCheckpointLeavesTheRunAsItIs) {
  const Workplace at;
  const Words flags = Words{"--checkpoint-every", "10"} + GetParam().flags;
  ASSERT_EQ(at.run(run_of("run", 20, flags)).code, 0);
  const fs::path settled = at / "run/checkpoint/step-0000000020.settled";
  const fs::path rows = settled.string() + "-rows";
  const fs::path damaged = fs::exists(rows) ? rows : settled;
  std::string bytes = contents(damaged);
  bytes[bytes.size() - 5000] ^= 1;
  std::ofstream(damaged, std::ios::binary) << bytes;
  const auto before = all_of(at / "run");
  const Ran ran = at.run({"resume", "run", "--quiet", "--threads", "1", "--steps", "30"});
  EXPECT_EQ(ran.code, 4) << ran.err;
  EXPECT_TRUE(all_of(at / "run") == before);
}

TEST_P(Faults, WhoGoesBackIsNotStoppedByTheDamagedCheckpointAgain) {
  const Workplace at;
  const Words flags = Words{"--checkpoint-every", "750", "--no-release"} + GetParam().flags;
  ASSERT_EQ(at.run(run_of("run", 1500, flags)).code, 0);
  const fs::path newest = at / "run/checkpoint/step-0000001500.unsettled";
  fs::resize_file(newest, fs::file_size(newest) - 1);
  ASSERT_EQ(at.run({"resume", "run", "--quiet", "--threads", "1"}).code, 4);
  Child back(at, {"resume", "run", "--previous", "--quiet", "--threads", "1"});
  ASSERT_TRUE(comes_true([&] { return !fs::exists(newest); }));
  back.send(SIGTERM);
  back.wait();
  const Ran on = at.run({"resume", "run", "--quiet", "--threads", "1"});
  EXPECT_EQ(on.code, 0) << back.err() << on.err;
}

TEST_P(Faults, AFullDiskIsAnErrorAndLosesNothingThatWasKept) {
  const Workplace at;
  const Words flags = Words{"--checkpoint-every", "2"} + GetParam().flags;
  ASSERT_EQ(at.run(run_of("whole", 100, flags)).code, 0);
  fs::remove_all(at / "tables");
  // In memory the first checkpoint is too large; in files the tables outgrow the limit on the way.
  constexpr rlim_t kLimit = 1'200'000;
  Child child(at, run_of("run", 100, flags), limited(RLIMIT_FSIZE, kLimit));
  EXPECT_EQ(child.wait(), 4) << child.err();
  EXPECT_NE(child.err().find("cannot write"), std::string::npos) << child.err();
  EXPECT_EQ(std::ranges::count(child.err(), '\n'), 1) << child.err();
  EXPECT_EQ(has_checkpoint(at, "run"), !GetParam().flags.empty());
  for (const auto& entry : fs::recursive_directory_iterator(at / "run")) {
    const std::string name = entry.path().filename().string();
    EXPECT_EQ(name.find("XXXX"), std::string::npos) << "nothing half-written: " << name;
  }
  const Ran resumed = at.run({"resume", "run", "--quiet", "--threads", "1"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(weights(at, "run/model"), weights(at, "whole/model"));
}

TEST_P(Faults, AFolderThatVanishesIsAnError) {
  const Workplace at;
  Child child(at, run_of("run", 100000, Words{"--checkpoint-every", "5"} + GetParam().flags));
  ASSERT_TRUE(comes_true([&] { return has_checkpoint(at, "run"); }));
  fs::rename(at / "run", at / "gone");
  fs::remove_all(at / "gone");
  EXPECT_EQ(child.wait(), 4) << child.err();
  EXPECT_EQ(std::ranges::count(child.err(), '\n'), 1) << child.err();
}

TEST_P(Faults, AFolderThatCannotBeMadeIsAnErrorAtOnce) {
  const Workplace at;
  at.write("file", "");
  const Ran ran = at.run(run_of("file/run", 2, GetParam().flags));
  EXPECT_EQ(ran.code, 4) << ran.err;
  EXPECT_EQ(ran.error_lines(), 1u) << ran.err;
}

TEST_P(Faults, ASecondProcessIsRefused) {
  const Workplace at;
  Child child(at, run_of("run", 100000, GetParam().flags));
  ASSERT_TRUE(comes_true([&] { return fs::exists(at / "run/metrics.jsonl"); }));
  const Ran second = at.run({"resume", "run", "--quiet"});
  EXPECT_EQ(second.code, 2);
  EXPECT_NE(second.err.find("in use"), std::string::npos) << second.err;
  if (!GetParam().flags.empty()) {
    const Ran tables = at.run(run_of("other", 2, GetParam().flags));
    EXPECT_EQ(tables.code, 2);
    EXPECT_NE(tables.err.find("tables is in use"), std::string::npos) << tables.err;
  }
}

TEST(DataFault, AFileThatIsCutShortWhileItIsReadIsAnError) {
  const Workplace at;
  ASSERT_EQ(at.run({"generate", "--synthetic", "click", "click.ldp", "--quiet"}).code, 0);
  Child child(at, {"train", "--data", "click.ldp", "--quiet", "--batch", "64", "--epochs", "100",
                   "--noise-multiplier", "1", "--out", "run"});
  ASSERT_TRUE(comes_true([&] { return !contents(at / "run/metrics.jsonl").empty(); }));
  fs::resize_file(at / "click.ldp", 8192);
  EXPECT_EQ(child.wait(), 4) << child.err();
  EXPECT_NE(child.err().find("click.ldp"), std::string::npos) << child.err();
}

TEST(MemoryFault, TooLittleIsRefusedInOneLine) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's shadow alone takes more than the limit";
#endif
  const Workplace at;
  const Words words = {"train",     "--quiet", "--rows",  "3000000", "--dim",   "64",
                       "--bottom",  "13-8-64", "--top",   "8-1",     "--batch", "64",
                       "--threads", "1",       "--steps", "2"};
  Child child(at, words, limited(RLIMIT_AS, rlim_t{700} << 20));
  EXPECT_EQ(child.wait(), 2) << child.err();
  EXPECT_EQ(std::ranges::count(child.err(), '\n'), 1) << child.err();
}

TEST(Secrets, AreInNoCoreDumpAndInNothingThatIsWrittenButCheckpoints) {
  const Workplace at;
  const std::string passphrase = "correct horse battery staple";
  at.write("key", passphrase + "\n");
  ASSERT_EQ(at.run(tiny({"train", "--quiet", "--json", "numbers.json"},
                        {"--steps", "6", "--out", "run", "--key-file", "key"}))
                .code,
            0);
  for (const auto& entry : fs::recursive_directory_iterator(at.path())) {
    if (!entry.is_regular_file() || entry.path().filename() == "key") continue;
    EXPECT_EQ(contents(entry.path()).find(passphrase), std::string::npos) << entry.path();
  }
  const auto any_size = limited(RLIMIT_CORE, RLIM_INFINITY);
  const auto dumps = [](pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) && WCOREDUMP(status);
  };
  const pid_t other = fork();
  if (other == 0) {
    if (chdir(at.path().c_str()) == 0) any_size();
    std::abort();
  }
  if (!dumps(other)) GTEST_SKIP() << "this system writes no core dumps anyway";
  Child child(at, run_of("long", 100000, {}), any_size);
  ASSERT_TRUE(comes_true([&] { return fs::exists(at / "long/metrics.jsonl"); }));
  child.send(SIGABRT);
  EXPECT_FALSE(dumps(child.leave()));
}

}  // namespace
}  // namespace lazydp::cli
