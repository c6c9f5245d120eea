// A run is killed, again and again.

#include <gtest/gtest.h>

#include <random>

#include "tests/cli/breakable_run.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

std::uint64_t steps_on_card(const Workplace& at, const std::string& run) {
  std::uint64_t steps = 0;
  const auto card = nlohmann::json::parse(contents(at / (run + "/model/card.json")));
  for (const auto& event : card.at("ledger")) steps += event.at("steps").get<std::uint64_t>();
  return steps;
}

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

class Kills : public WithEitherStorage {};
INSTANTIATE_TEST_SUITE_P(Tables, Kills, storages(), storage_name);

TEST_P(Kills, KilledAtRandomMomentsARunEndsInTheSameModel) {
  kill_at_random_moments(GetParam().flags, 5, 1);
}

class SlowKills : public WithEitherStorage {};
INSTANTIATE_TEST_SUITE_P(Tables, SlowKills, storages(), storage_name);

TEST_P(SlowKills, KilledAtAHundredRandomMomentsARunEndsInTheSameModel) {
  kill_at_random_moments(GetParam().flags, 100, 2);
}

}  // namespace
}  // namespace lazydp::cli
