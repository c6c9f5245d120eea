// lazydp compare, and the run beside which a page is put, as a user sees them.

#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

class ThreeRuns : public testing::Test {
 protected:
  ThreeRuns() {
    const auto train = [this](const char* folder, const Words& more) {
      const Ran ran = place_.run(Words{"train", "--steps", "20", "--batch", "1024", "--eval-every",
                                       "5", "--eval-examples", "2000", "--quiet", "--out", folder} +
                                 more);
      EXPECT_EQ(ran.code, 0) << ran.err;
    };
    train("sgd", {"--algorithm", "sgd"});
    train("eight", {"--epsilon", "8", "--lr", "2"});
    train("three", {"--epsilon", "3", "--lr", "2"});
  }

  Workplace place_;
};

TEST_F(ThreeRuns, AreShownWithWhatDiffersAndWhatCameOfIt) {
  const Ran ran = place_.run({"compare", "sgd", "eight", "three", "--json", "c.json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  for (const char* text :
       {"--algorithm", "--epsilon", "no claim", "AUC", "log-loss", "Careful: "}) {
    EXPECT_NE(ran.out.find(text), std::string::npos) << text << "\n" << ran.out;
  }
  EXPECT_EQ(ran.out.find("--batch"), std::string::npos) << "it is the same in all runs";

  const auto json = nlohmann::json::parse(contents(place_ / "c.json"));
  EXPECT_EQ(json["differences"]["epsilon"], (Words{"-", "8", "3"}));
  EXPECT_EQ(json["differences"]["lr"], (Words{"-", "2", "2"}));
  EXPECT_FALSE(json["differences"].contains("steps"));
  // Each run's numbers are those of its own record.
  for (const auto& run : json["runs"]) {
    const std::string folder = run["folder"];
    const auto record = nlohmann::json::parse(contents(place_ / (folder + "/report.json")));
    EXPECT_EQ(run["numbers"], record) << folder;
    EXPECT_EQ(run["finished"], true);
  }
  EXPECT_TRUE(json["runs"][0]["numbers"]["epsilon"].is_null());
  EXPECT_NEAR(json["runs"][1]["numbers"]["epsilon"].get<double>(), 8.0, 0.05);
  EXPECT_NEAR(json["runs"][2]["numbers"]["epsilon"].get<double>(), 3.0, 0.05);
}

TEST_F(ThreeRuns, HaveAPageThatStandsAlone) {
  ASSERT_EQ(place_.run({"compare", "sgd", "eight", "--quiet", "--html", "c.html"}).code, 0);
  const std::string page = contents(place_ / "c.html");
  for (const char* text : {"Secret", "2 runs side by side", "What differs", "Held-out AUC",
                           "Training loss", ">sgd</text>", ">eight</text>"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  for (const char* outside : {"href=", "src=", "url(", "<script", "<link", "@import"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
}

TEST_F(ThreeRuns, MayBeUnderWayOrJudgedOnOtherExamples) {
  std::filesystem::remove(place_ / "three/report.json");
  Ran ran = place_.run({"compare", "eight", "three"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("three has not finished"), std::string::npos) << ran.out;

  auto record = nlohmann::json::parse(contents(place_ / "sgd/report.json"));
  record["synthetic"] = "other";
  place_.write("sgd/report.json", record.dump());
  ran = place_.run({"compare", "eight", "sgd"});
  EXPECT_NE(ran.out.find("not judged on the same examples"), std::string::npos) << ran.out;
}

TEST_F(ThreeRuns, AreRefusedInOneLineWhereTheyCannotBeRead) {
  place_.write("eight/report.json", "{\"auc\": ");
  place_.write("file", "");
  struct Refused {
    Words words;
    int code;
    const char* says;
  };
  for (const auto& [words, code, says] :
       {Refused{{"sgd"}, 2, "two runs or more"}, Refused{{"sgd", "nowhere"}, 2, "config.toml"},
        Refused{{"sgd", "file"}, 2, "config.toml"}, Refused{{"sgd", "eight"}, 4, "is damaged"},
        Refused{{"sgd", "three", "--html", "no/c.html"}, 4, "cannot write"}}) {
    const Ran ran = place_.run(Words{"compare"} + words);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_EQ(ran.error_lines(), 1u) << ran.err;
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(ThreeRuns, CanStandBesideAnother) {
  const Words again = {"train", "--steps", "6", "--batch", "512", "--quiet", "--beside", "sgd"};
  ASSERT_EQ(place_.run(again + Words{"--out", "run"}).code, 0);
  const std::string page = contents(place_ / "run/report.html");
  const auto sgd = nlohmann::json::parse(contents(place_ / "sgd/report.json"));
  char auc[16];
  std::snprintf(auc, sizeof auc, "%.4f", sgd["auc"].get<double>());
  EXPECT_NE(page.find("<td>" + std::string(auc) + "</td>"), std::string::npos) << auc;
  EXPECT_NE(page.find(">sgd</text>"), std::string::npos) << "its level in a picture";
  EXPECT_EQ(page.find("do not compare"), std::string::npos);
  ASSERT_EQ(place_.run(again + Words{"--out", "heavy", "--positive-weight", "3"}).code, 0);
  EXPECT_NE(contents(place_ / "heavy/report.html").find("do not compare"), std::string::npos);
  // Nothing of it is part of the run's settings.
  EXPECT_EQ(contents(place_ / "run/config.toml").find("beside"), std::string::npos);

  EXPECT_EQ(place_.run(again).code, 2) << "there is no page without a folder";
  const Ran ran = place_.run({"train", "--beside", "nowhere", "--out", "another"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_FALSE(std::filesystem::exists(place_ / "another"));
}

}  // namespace
}  // namespace lazydp::cli
