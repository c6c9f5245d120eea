// lazydp train, run whole.

#include <gtest/gtest.h>

#include "lazydp/train/recipe.h"
#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

class EveryAlgorithm : public testing::TestWithParam<std::string> {};

TEST_P(EveryAlgorithm, TrainsAndWritesEveryField) {
  const Workplace place;
  const auto json = place.json(tiny({"train", "--algorithm", GetParam(), "--steps", "5"}));
  ASSERT_EQ(place.last().code, 0) << place.last().err;
  EXPECT_EQ(json["algorithm"], GetParam());
  EXPECT_EQ(json["model"], "custom");
  EXPECT_EQ(json["scale"], 1.0);
  EXPECT_EQ(json["batch"], 32);
  EXPECT_EQ(json["steps"], 5);
  EXPECT_EQ(json["threads"], 1);
  EXPECT_EQ(json["seed"], "os");
  EXPECT_EQ(json["table_bytes"], 120 * 4 * 4);
  EXPECT_GT(json["peak_rss_bytes"], 1'000'000);
  EXPECT_GT(json["step_ms"]["min"], 0.0);
  EXPECT_GE(json["step_ms"]["median"], json["step_ms"]["min"]);
  for (const char* stage : {"data", "forward", "backward", "norms", "weight_gradients", "dedup",
                            "settle", "gradient_update", "dense_update"}) {
    EXPECT_GE(json["stages_ms"][stage], 0.0) << stage;
  }
  EXPECT_EQ(json["stages_ms"].size(), 9u);
  EXPECT_GE(json["rows_read"], 1.0);
  EXPECT_GE(json["rows_written"], 1.0);
  EXPECT_TRUE(json["history_bytes"].is_number_unsigned());
  EXPECT_TRUE(json["loss"].is_number());
  EXPECT_GT(json["delta"], 0.0);
  EXPECT_TRUE(json["claim"].is_string());
  EXPECT_TRUE(json["settle"] == "on-read" || json["settle"] == "ahead");
  for (const char* of_nothing : {"auc", "logloss", "bayes_auc"}) {
    ASSERT_TRUE(json.contains(of_nothing));
    EXPECT_TRUE(json[of_nothing].is_null()) << "nothing is held out of data that means nothing";
  }
  const bool claims = recipe(GetParam()).no_claim.empty();
  EXPECT_EQ(json["epsilon"].is_number(), claims);
}

INSTANTIATE_TEST_SUITE_P(Train, EveryAlgorithm, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           names.reserve(kRecipes.size());
                           for (const Recipe& recipe : kRecipes) names.emplace_back(recipe.name);
                           return names;
                         }()),
                         [](const auto& algorithm) {
                           std::string name = algorithm.param;
                           std::erase(name, '-');
                           return name;
                         });

// Returns the results of a run without its timings.
nlohmann::json results(nlohmann::json json) {
  for (const char* timing : {"step_ms", "stages_ms", "steps_per_second", "settle_all_ms", "seconds",
                             "peak_rss_bytes", "threads"}) {
    json.erase(timing);
  }
  return json;
}

std::vector<std::string> short_click() {
  return {"train", "--steps", "8", "--batch", "512", "--seed", "7"};
}

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Train, IsTheSameBitForBitOnOneThreadAndOnTwo) {
  const Workplace place;
  const auto one = place.json(with(short_click(), {"--threads", "1"}));
  ASSERT_EQ(place.last().code, 0) << place.last().err;
  const auto two = place.json(with(short_click(), {"--threads", "2"}));
  EXPECT_EQ(one["threads"], 1);
  EXPECT_EQ(two["threads"], 2);
  EXPECT_TRUE(one["auc"].is_number());
  EXPECT_EQ(results(one).dump(), results(two).dump());
}

TEST(Train, SettlesAheadToTheSameModel) {
  const Workplace place;
  auto on_read = place.json(with(short_click(), {"--settle", "on-read"}));
  auto ahead = place.json(with(short_click(), {"--settle", "ahead"}));
  ASSERT_EQ(place.last().code, 0) << place.last().err;
  EXPECT_EQ(ahead["settle"], "ahead");
  for (const char* value : {"loss", "auc", "logloss"}) EXPECT_EQ(on_read[value], ahead[value]);
}

TEST(Train, AFixedSeedClaimsNoEpsilonAndSaysWhy) {
  const Workplace place;
  const auto json = place.json(short_click());
  EXPECT_EQ(json["seed"], "fixed");
  EXPECT_TRUE(json["epsilon"].is_null());
  EXPECT_NE(json["claim"].get<std::string>().find("seed"), std::string::npos);
}

TEST(Train, ShuffledBatchesClaimNoEpsilonAndSayWhy) {
  const Workplace place;
  const auto json = place.json(tiny({"train", "--steps", "3", "--sampling", "shuffled"}));
  EXPECT_TRUE(json["epsilon"].is_null());
  EXPECT_NE(json["claim"].get<std::string>().find("Poisson"), std::string::npos);
}

TEST(Train, BothAccountantsBoundTheSameRunAndTheTightOneIsBelow) {
  const Workplace place;
  const std::vector<std::string> run = {"train", "--steps", "5", "--batch", "2048"};
  const auto rdp = place.json(with(run, {"--accountant", "rdp"}));
  const auto pld = place.json(with(run, {"--accountant", "pld"}));
  ASSERT_EQ(place.last().code, 0) << place.last().err;
  EXPECT_GT(pld["epsilon"], 0.0);
  EXPECT_LT(pld["epsilon"], rdp["epsilon"]);
}

TEST(Train, AConfigFileSaysWhatFlagsSay) {
  const Workplace place;
  place.write("run.toml", R"(# every kind of value
algorithm = "dpsgd-f"
rows = [50, 70]
dim = 4
bottom = "13-8-4"
top = [8, 1]
pooling = 3
pooling-mode = "mean"
synthetic = "zipf:1.05"
batch = 32
steps = 6
lr = 0.5
dense-lr = 5e-2
lr-schedule = "warmup:2,linear"
noise-multiplier = 1.25
clip-norm = 1
weight-decay = 0.01
seed = 3
threads = 1
quiet = true
)");
  const auto from_file = place.json({"train", "--config", "run.toml"});
  ASSERT_EQ(place.last().code, 0) << place.last().err;
  const auto from_flags =
      place.json(tiny({"train", "--algorithm", "dpsgd-f"}, {"--pooling-mode",
                                                            "mean",
                                                            "--synthetic",
                                                            "zipf:1.05",
                                                            "--steps",
                                                            "6",
                                                            "--lr",
                                                            "0.5",
                                                            "--dense-lr",
                                                            "0.05",
                                                            "--lr-schedule",
                                                            "warmup:2,linear",
                                                            "--noise-multiplier",
                                                            "1.25",
                                                            "--clip-norm",
                                                            "1",
                                                            "--weight-decay",
                                                            "0.01",
                                                            "--seed",
                                                            "3"}));
  EXPECT_EQ(results(from_file).dump(), results(from_flags).dump());
}

TEST(Train, FlagsWinOverTheConfigFile) {
  const Workplace place;
  place.write("run.toml", "steps = 6\nalgorithm = \"sgd\"\n");
  const auto json = place.json(tiny({"train", "--config", "run.toml", "--steps", "2"}));
  EXPECT_EQ(json["steps"], 2);
  EXPECT_EQ(json["algorithm"], "sgd");
}

TEST(Train, ReportsForPeopleAndTellsWhatIsNotClaimed) {
  const Ran ran = Workplace().run(with(short_click(), {"--eval-every", "4"}));
  EXPECT_EQ(ran.code, 0);
  for (const char* text : {"held-out AUC", "Bayes", "steps/s", "no claim", "Never claimed"}) {
    EXPECT_NE(ran.out.find(text), std::string::npos) << text;
  }
  EXPECT_NE(ran.err.find("step 8/8"), std::string::npos);
  EXPECT_NE(ran.err.find("step 4: held-out AUC"), std::string::npos);
}

TEST(Train, JsonOnStandardOutputIsAloneThere) {
  const Ran ran = Workplace().run(tiny({"train", "--steps", "2", "--json", "-"}));
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(nlohmann::json::parse(ran.out)["steps"], 2);
  EXPECT_NE(ran.err.find("steps/s"), std::string::npos);
}

TEST(Train, QuietShowsNothingButWhatJsonTakes) {
  const Workplace place;
  for (const Words& words : {tiny({"train", "--steps", "2", "--quiet"}),
                             tiny({"train", "--steps", "2", "--quiet", "--dry-run"})}) {
    const Ran ran = place.run(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out + ran.err, "");
  }
  const Ran ran = place.run(tiny({"train", "--steps", "2", "--quiet", "--json", "-"}));
  EXPECT_EQ(nlohmann::json::parse(ran.out)["steps"], 2);
  EXPECT_EQ(ran.err, "");
}

TEST(Train, ReplacesAnOldJsonFileWhole) {
  const Workplace place;
  place.write("numbers.json", std::string(100'000, 'x'));
  EXPECT_EQ(place.json(tiny({"train", "--steps", "2"}))["steps"], 2);
  EXPECT_EQ(place.files(), std::vector<std::string>{"numbers.json"});
}

TEST(Train, SplitKernelsTimeThePapersStagesApartAndEndInTheSameModel) {
  const Workplace place;
  const std::vector<std::string> run =
      tiny({"train", "--steps", "4", "--seed", "1", "--algorithm", "dpsgd-r"});
  const auto fused = place.json(run);
  const auto split = place.json(with(run, {"--stages", "split"}));
  ASSERT_EQ(place.last().code, 0) << place.last().err;
  EXPECT_EQ(fused["stages"], "fused");
  EXPECT_EQ(split["stages"], "split");
  for (const char* whole : {"settle", "backward"}) {
    EXPECT_TRUE(fused["stages_ms"].contains(whole));
    EXPECT_FALSE(split["stages_ms"].contains(whole));
  }
  for (const char* part : {"history", "noise_sampling", "noisy_gradient", "noise_update",
                           "per_example", "per_batch"}) {
    EXPECT_FALSE(fused["stages_ms"].contains(part)) << part;
    EXPECT_TRUE(split["stages_ms"].contains(part)) << part;
  }
  EXPECT_NEAR(fused["loss"].get<double>(), split["loss"].get<double>(), 1e-5);
}

TEST(Train, MaterialisingReportsItsMicroBatches) {
  const Workplace place;
  const auto json = place.json(tiny({"train", "--steps", "2", "--algorithm", "dpsgd-b"}));
  EXPECT_GE(json["microbatch"]["examples"], 1);
  EXPECT_GT(json["microbatch"]["bytes_one_pass"], 0);
}

}  // namespace
}  // namespace lazydp::cli
