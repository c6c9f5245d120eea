// lazydp inspect of folders: runs, finished and not, and released models.

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

TEST(InspectFolder, TellsAReleasedRunItsModelAndItsClaim) {
  const Workplace at;
  ASSERT_EQ(at.run(tiny({"train", "--quiet"},
                        {"--steps", "12", "--out", "run", "--checkpoint-every", "5"}))
                .code,
            0);
  const auto run = at.json({"inspect", "run"});
  EXPECT_EQ(run["kind"], "run");
  EXPECT_EQ(run["released"], true);
  EXPECT_EQ(run["step"], 12);
  EXPECT_EQ(run["checkpoints"], nlohmann::json({"step-0000000012.settled"}));
  EXPECT_NE(run["config"].get<std::string>().find("steps = \"12\""), std::string::npos);
  const auto card = nlohmann::json::parse(contents(at / "run/model/card.json"));
  EXPECT_EQ(run["claim"], card["claim"]);

  const auto model = at.json({"inspect", "run/model"});
  EXPECT_EQ(model["kind"], "model");
  EXPECT_EQ(model["claim"], card["claim"]);
  EXPECT_EQ(model["model"], card["model"]);

  const Ran said = at.run({"inspect", "run"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("a run that was released"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("at delta"), std::string::npos) << said.out;
}

TEST(InspectFolder, TellsHowFarARunHasComeWhileAnotherProcessHoldsIt) {
  const Workplace at;
  ASSERT_EQ(at.run(tiny({"train", "--quiet"}, {"--steps", "12", "--out", "run", "--no-release",
                                               "--checkpoint-every", "8"}))
                .code,
            0);
  const Ran said =
      at.shell("flock run/lock \"$LAZYDP\" inspect run");  // as a run under way would hold it
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_NE(said.out.find("step-0000000012.unsettled"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("lazydp resume"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("if it were released there"), std::string::npos) << said.out;
}

TEST(InspectFolder, RefusesWhatItCannotDescribeInOneLine) {
  const Workplace at;
  fs::create_directory(at / "empty");
  for (const Words& words : {Words{"inspect", "empty"}, Words{"inspect", "empty", "--verify"},
                             Words{"inspect", "empty", "--show", "2"}}) {
    const Ran ran = at.run(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(ran.error_lines(), 1U) << ran.err;
  }
  ASSERT_EQ(at.run(tiny({"train", "--quiet"}, {"--steps", "3", "--out", "run"})).code, 0);
  at.write("run/model/card.json", "{}");
  EXPECT_EQ(at.run({"inspect", "run"}).code, 3) << "a card that was edited";
}

}  // namespace
}  // namespace lazydp::cli
