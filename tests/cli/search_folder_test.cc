// The folder of a private search: its secret number of trials, the best of them, its passphrase.

#include "lazydp/cli/search/search_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "lazydp/privacy/private_selection.h"
#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

TEST(SearchFolder, DrawsTheNumberOfTrialsOnceAndKeepsIt) {
  const Workplace at;
  const TrialsLaw law = trials_with_mean(500, 1);
  const Json settings = {{"candidates", Json::array({{{"data", "x"}}})}};
  const std::string path = (at / "search").string();
  const std::uint64_t trials = SearchFolder::open(path, settings, law, {}).trials();
  for (int again = 0; again < 5; ++again) {
    SearchFolder folder = SearchFolder::open(path, settings, law, {});
    EXPECT_EQ(folder.trials(), trials);
  }
  std::set<std::uint64_t> others;  // of a geometric law with mean 500: equal once in 1000
  for (int i = 0; i < 5; ++i) {
    others.insert(
        SearchFolder::open((at / std::to_string(i)).string(), settings, law, {}).trials());
  }
  EXPECT_GT(others.size(), 2u);
}

TEST(SearchFolder, KeepsTheBestTrialAndRemovesLosers) {
  const Workplace at;
  const TrialsLaw law{1, 1e-3};
  const Json settings = {{"candidates", Json::array({{{"data", "x"}}})}};
  std::optional<SearchFolder> folder;
  for (int i = 0; !folder || folder->trials() < 4; ++i) {  // all but once in 300
    folder.reset();
    folder.emplace(
        SearchFolder::open((at / std::to_string(i)).string(), settings, law, std::nullopt));
  }
  const std::string path = folder->path();
  const auto train = [&](std::uint64_t number, double score) {
    folder->prepare(number);
    fs::create_directory(folder->trial(number));
    std::ofstream(folder->trial(number) + "/rows") << "secret";
    folder->record(score);
  };
  train(1, -0.5);
  EXPECT_EQ(folder->best(), 1u);
  train(2, -0.7);
  EXPECT_EQ(folder->best(), 1u);
  EXPECT_TRUE(fs::exists(folder->trial(1)));
  EXPECT_FALSE(fs::exists(folder->trial(2)));
  const Seed seed = folder->seed_of(3);
  const std::uint64_t candidate = folder->candidate_of(3, 1000);
  const double noise = folder->score_noise_of(3).normal();
  folder.reset();
  folder.emplace(SearchFolder::open(path, settings, law, std::nullopt));
  EXPECT_EQ(folder->done(), 2u);
  EXPECT_EQ(folder->best(), 1u);
  EXPECT_EQ(folder->seed_of(3).reveal(), seed.reveal());
  EXPECT_NE(folder->seed_of(4).reveal(), seed.reveal());
  EXPECT_TRUE(folder->seed_of(3).secret());
  EXPECT_EQ(folder->candidate_of(3, 1000), candidate);
  EXPECT_EQ(folder->score_noise_of(3).normal(), noise);
  train(3, -0.4);
  EXPECT_EQ(folder->best(), 3u);
  EXPECT_FALSE(fs::exists(folder->trial(1)));
  EXPECT_TRUE(fs::exists(folder->trial(3)));
  folder->remove_trials();
  EXPECT_FALSE(fs::exists(path + "/trials"));
}

TEST(SearchFolder, IsSealedByAPassphrase) {
  const Workplace at;
  const Json settings = {{"candidates", Json::array({{{"data", "x"}}})}};
  const std::string path = (at / "search").string();
  const TrialsLaw law{1, 0.01};
  const std::uint64_t trials =
      SearchFolder::open(path, settings, law, Passphrase("of the owner")).trials();
  EXPECT_EQ(SearchFolder::open(path, settings, law, Passphrase("of the owner")).trials(), trials);
  EXPECT_THROW(SearchFolder::open(path, settings, law, {}), UserError);
  EXPECT_THROW(SearchFolder::open(path, settings, law, Passphrase("of another")), UserError);
}

}  // namespace
}  // namespace lazydp::cli
