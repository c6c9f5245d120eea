// lazydp bench steps, run whole.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <utility>

#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

TEST(BenchSteps, MeasuresEveryContenderAndEveryRatio) {
  const Workplace place;
  const auto json =
      place.json(tiny({"bench", "steps", "--algorithms", "sgd,lazydp-no-ans,lazydp,dpsgd-f"},
                      {"--rounds", "5", "--synthetic", "zipf:1.05"}));
  ASSERT_EQ(place.last().code, 0) << place.last().err;
  EXPECT_EQ(json["batch"], 32);
  EXPECT_EQ(json["threads"], 1);
  EXPECT_EQ(json["rounds"], 5);
  EXPECT_EQ(json["synthetic"], "zipf:1.05");
  EXPECT_EQ(json["table_bytes"], 120 * 4 * 4);
  EXPECT_GT(json["lateness"], 0.0);
  ASSERT_EQ(json["results"].size(), 4u);
  for (const auto& result : json["results"]) {
    const auto& ms = result["step_ms"];
    EXPECT_GT(ms["min"], 0.0);
    EXPECT_LE(ms["min"], ms["p10"]);
    EXPECT_LE(ms["p10"], ms["median"]);
    EXPECT_LE(ms["median"], ms["p90"]);
    EXPECT_TRUE(result["stages_ms"].contains("settle"));
    EXPECT_FALSE(result["stages_ms"].contains("data")) << "drawing the batch is not in the step";
    EXPECT_GT(result["data_ms"], 0.0);
    EXPECT_GE(result["wall_ms"], result["data_ms"]) << "of whole steps";
    const bool waits = result["algorithm"].get<std::string>().starts_with("lazydp");
    EXPECT_EQ(result["lateness"].is_number(), waits);
    EXPECT_EQ(result["noise_elements_per_second"].is_number(), result["algorithm"] == "dpsgd-f");
  }
  std::set<std::pair<std::string, std::string>> pairs;
  for (const auto& ratio : json["ratios"]) {
    pairs.emplace(ratio["of"], ratio["to"]);
    EXPECT_LE(ratio["low"], ratio["median"]);
    EXPECT_LE(ratio["median"], ratio["high"]);
  }
  EXPECT_EQ(pairs.size(), 4u * 3u);
}

TEST(BenchSteps, PrintsATableAndTheRatios) {
  const Ran ran =
      Workplace().run(tiny({"bench", "steps", "--algorithms", "sgd,lazydp", "--rounds", "2"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* text : {"median", "p90", "lateness", "95 %"}) {
    EXPECT_NE(ran.out.find(text), std::string::npos) << text;
  }
}

TEST(BenchSteps, MeasuresTablesInFilesAndLeavesNothingThere) {
  const Workplace place;
  const auto with = [](const std::string& algorithms) {
    return tiny({"bench", "steps", "--algorithms", algorithms},
                {"--rounds", "2", "--table-storage", "file:rows"});
  };
  const auto json = place.json(with("sgd,eana,lazydp"));
  ASSERT_EQ(place.last().code, 0) << place.last().err;
  EXPECT_EQ(json["results"].size(), 3u);
  EXPECT_EQ(json["tables_in"], "files");
  EXPECT_TRUE(std::filesystem::is_empty(place / "rows"));

  const Ran all =
      place.run(tiny({"bench", "steps"}, {"--rounds", "1", "--table-storage", "file:rows"}));
  EXPECT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(all.out.find("dpsgd"), std::string::npos) << "the default leaves out who can't";
  const Ran refused = place.run(with("sgd,dpsgd-f"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("dpsgd-f writes every row at every step"), std::string::npos)
      << refused.err;
}

}  // namespace
}  // namespace lazydp::cli
