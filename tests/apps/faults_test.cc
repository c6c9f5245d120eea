// What can go wrong around a run: it is killed, told to stop, its disk fills, its files vanish.

#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "tests/apps/child.h"

namespace lazydp::apps {
namespace {

namespace fs = std::filesystem;

// Tables of 2 x 4,000 rows of 64 floats: growing files grow more than once.
Words run_of(const std::string& out, int steps, const Words& more) {
  return Words{"train",     "--quiet",
               "--rows",    "4000,3000",
               "--dim",     "64",
               "--bottom",  "13-8-64",
               "--top",     "8-1",
               "--pooling", "3",
               "--batch",   "64",
               "--threads", "1",
               "--seed",    "5",
               "--out",     out,
               "--steps",   std::to_string(steps)} +
         more;
}

std::uint64_t steps_on_card(const Workplace& at, const std::string& run) {
  std::uint64_t steps = 0;
  const auto card = nlohmann::json::parse(contents(at / (run + "/model/card.json")));
  for (const auto& event : card.at("ledger")) steps += event.at("steps").get<std::uint64_t>();
  return steps;
}

bool has_checkpoint(const Workplace& at, const std::string& run) {
  std::error_code ignored;
  for (fs::directory_iterator i(at / (run + "/checkpoint"), ignored), end; !ignored && i != end;
       i.increment(ignored)) {
    if (i->path().extension() == ".unsettled") return true;
  }
  return false;
}

struct Storage {
  const char* name;
  Words flags;
};

class Faults : public testing::TestWithParam<Storage> {};

INSTANTIATE_TEST_SUITE_P(Tables, Faults,
                         testing::Values(Storage{"memory", {}},
                                         Storage{"files", {"--table-storage", "file:tables"}}),
                         [](const auto& tested) { return std::string(tested.param.name); });

// Kills runs until there were so many kills. However often a run was killed, it ends in the model
// of one that never was, and its ledger has every step once.
void kill_at_random_moments(const Words& storage, int kills, unsigned seed) {
  constexpr int kSteps = 40;
  const Workplace at;
  const Words flags = Words{"--checkpoint-every", "2"} + storage;
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(at.run(run_of("whole", kSteps, flags)).code, 0);
  const std::chrono::duration<double> whole = std::chrono::steady_clock::now() - begin;
  const std::string expected = weights(at, "whole/model");
  fs::remove_all(at / "tables");
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> moment(0.0, 1.0);
  while (kills > 0) {
    Words words = run_of("run", kSteps, flags);
    for (int tries = 0;; ++tries) {
      ASSERT_LT(tries, 100) << "it gets nowhere";
      Child child(at, words);
      std::this_thread::sleep_for(whole * moment(rng));
      child.send(SIGKILL);
      const int code = child.wait();
      if (code == 0) break;
      ASSERT_EQ(code, -SIGKILL) << child.err();
      --kills;
      if (fs::exists(at / "run/config.toml"))
        words = {"resume", "run", "--quiet", "--threads", "1"};
      if (fs::exists(at / "run/model/card.json")) break;  // it was killed after its last word
    }
    ASSERT_EQ(steps_on_card(at, "run"), std::uint64_t{kSteps});
    ASSERT_EQ(weights(at, "run/model"), expected);
    fs::remove_all(at / "run");
    fs::remove_all(at / "tables");
  }
}

TEST_P(Faults, KilledAtRandomMomentsARunEndsInTheSameModel) {
  kill_at_random_moments(GetParam().flags, 5, 1);
}

class SlowFaults : public Faults {};
INSTANTIATE_TEST_SUITE_P(Tables, SlowFaults,
                         testing::Values(Storage{"memory", {}},
                                         Storage{"files", {"--table-storage", "file:tables"}}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST_P(SlowFaults, KilledAtAHundredRandomMomentsARunEndsInTheSameModel) {
  kill_at_random_moments(GetParam().flags, 100, 2);
}

TEST_P(Faults, ASignalIsAnsweredWithACheckpointAndHowToGoOn) {
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

// A signal that comes when all steps are taken, while rows are settled, the model is evaluated or
// written: what was trained is there, and goes on to the same model.
TEST_P(Faults, ASignalAfterTheLastStepLosesNothing) {
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

TEST_P(Faults, WhoIsToldToHearNothingOfASignalGoesOn) {
  const Workplace at;
  Child child(at, run_of("run", 300, GetParam().flags), [] { signal(SIGHUP, SIG_IGN); });
  ASSERT_TRUE(comes_true([&] { return !contents(at / "run/metrics.jsonl").empty(); }));
  child.send(SIGHUP);
  EXPECT_EQ(child.wait(), 0) << child.err();
}

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

TEST(Disk, TooSmallForTheTablesIsRefusedBeforehandWithBothNumbers) {
  const Workplace at;
  const Ran ran = at.run({"train", "--quiet", "--rows", "100000000", "--dim", "4096", "--bottom",
                          "13-4096", "--top", "1", "--batch", "4096", "--steps", "1000000",
                          "--table-storage", "file:tables", "--out", "run", "--dry-run"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("of disk"), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(at / "run"));
  EXPECT_FALSE(fs::exists(at / "tables"));
}

TEST(TableStorage, IsFoundAgainFromAnywhere) {
  const Workplace at;
  const Words flags = {"--table-storage", "file:tables", "--no-release"};
  ASSERT_EQ(at.run(run_of("run", 4, flags)).code, 0);
  fs::create_directory(at / "elsewhere");
  Child child(at, {"resume", "../run", "--steps", "4", "--quiet"},
              [] { (void)!chdir("elsewhere"); });
  EXPECT_EQ(child.wait(), 0) << child.err();
  EXPECT_TRUE(fs::is_empty(at / "elsewhere"));
}

TEST(TableStorage, RefusesWhatItCannotDo) {
  const Workplace at;
  at.write("key", "a passphrase of some length\n");
  EXPECT_EQ(at.run(run_of("run", 2, {"--table-storage", "elsewhere"})).code, 2);
  EXPECT_EQ(at.run(run_of("run", 2, {"--table-storage", "file:"})).code, 2);
  EXPECT_EQ(at.run(run_of("run", 2, {"--table-storage", "file:t", "--key-file", "key"})).code, 2);
  const Ran eager =
      at.run(run_of("run", 2, {"--table-storage", "file:t", "--algorithm", "dpsgd-f"}));
  EXPECT_EQ(eager.code, 2);
  EXPECT_NE(eager.err.find("every row"), std::string::npos) << eager.err;
}

}  // namespace
}  // namespace lazydp::apps
