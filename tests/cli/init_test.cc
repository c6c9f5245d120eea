// Runs that begin with a model's weights, and keep some of them.

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <limits>

#include "tests/cli/child.h"
#include "tests/cli/user_data.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json header_of(const std::string& file) {
  std::uint64_t size = 0;
  std::memcpy(&size, file.data(), sizeof(size));
  return json::parse(file.substr(sizeof(size), size));
}

// The bytes of one tensor of a released model.
std::string tensor(const Workplace& at, const std::string& model, const std::string& name) {
  const std::string file = contents(at / (model + "/model.safetensors"));
  const json entry = header_of(file).at(name);
  const std::size_t first = entry["data_offsets"][0];
  const std::size_t last = entry["data_offsets"][1];
  return weights(at, model).substr(first, last - first);
}

json card(const Workplace& at, const std::string& run) {
  return json::parse(contents(at / (run + "/model/card.json")));
}

// Returns `usual` flags, each with its value, where `more` has no other value for them, and `more`.
Words with(const Words& usual, const Words& more) {
  Words words = more;
  for (std::size_t i = 0; i + 1 < usual.size(); i += 2) {
    if (std::ranges::find(more, usual[i]) != more.end()) continue;
    words.insert(words.end(), {usual[i], usual[i + 1]});
  }
  return words;
}

// A released model whose six steps are claimed for.
class Init : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(at_.run(train("first", {})).code, 0);
    epsilon_ = card(at_, "first")["claim"]["epsilon"];
  }

  static Words train(const std::string& out, const Words& more) {
    return Words{"train", "--quiet", "--out", out} +
           with({"--noise-multiplier", "1.2", "--steps", "6", "--rows", "50,70", "--dim", "4",
                 "--bottom", "13-8-4", "--top", "8-1", "--batch", "32", "--threads", "1"},
                more);
  }

  std::string refused(const Words& more, int code) {
    const Ran ran = at_.run(train("refused", more));
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_FALSE(fs::exists(at_ / "refused")) << "nothing is written";
    return ran.err;
  }

  Workplace at_;
  double epsilon_ = 0.0;
};

TEST_F(Init, WhatTheModelSpentCounts) {
  ASSERT_EQ(at_.run(train("second", {"--init", "first"})).code, 0);
  ASSERT_EQ(at_.run(train("twelve", {"--steps", "12"})).code, 0);
  const json second = card(at_, "second");
  EXPECT_EQ(second["claim"]["epsilon"], card(at_, "twelve")["claim"]["epsilon"]);
  json both = card(at_, "first")["ledger"];
  both.push_back(both[0]);
  both[1]["another_run"] = true;
  EXPECT_EQ(second["ledger"], both);
  const json begun = second["plan"]["initial_model"];
  EXPECT_EQ(begun["privacy"], "claimed");
  EXPECT_EQ(begun["epsilon"], epsilon_);
  EXPECT_EQ(begun["blake2b_256"], card(at_, "first")["weights"]["blake2b_256"]);
  EXPECT_EQ(begun["ledger"], card(at_, "first")["ledger"]);

  // And so on: what the second run spent includes what the first one did.
  ASSERT_EQ(at_.run(train("third", {"--init", "second/model"})).code, 0);
  ASSERT_EQ(at_.run(train("eighteen", {"--steps", "18"})).code, 0);
  EXPECT_EQ(card(at_, "third")["claim"]["epsilon"], card(at_, "eighteen")["claim"]["epsilon"]);
}

TEST_F(Init, APublicModelCostsNothingAndTheCardSaysWhoSaidSo) {
  ASSERT_EQ(at_.run(train("second", {"--init", "first", "--init-is-public"})).code, 0);
  EXPECT_EQ(card(at_, "second")["claim"]["epsilon"], epsilon_);
  const json begun = card(at_, "second")["plan"]["initial_model"];
  EXPECT_EQ(begun["privacy"], "public");
  EXPECT_TRUE(begun.contains("declared_by"));
  const std::string mechanism = card(at_, "second")["claim"]["mechanism"];
  EXPECT_NE(mechanism.find("as the user declared"), std::string::npos) << mechanism;
}

TEST_F(Init, AModelWithoutAClaimIsRefusedUnlessNothingIsClaimedAnyway) {
  ASSERT_EQ(at_.run(train("fixed", {"--seed", "1"})).code, 0);
  const std::string why = refused({"--init", "fixed"}, 3);
  EXPECT_NE(why.find("the seed was fixed"), std::string::npos) << why;
  EXPECT_NE(why.find("--init-is-public"), std::string::npos) << why;
  EXPECT_EQ(at_.run(train("public", {"--init", "fixed", "--init-is-public"})).code, 0);
  ASSERT_EQ(at_.run(train("eana", {"--init", "fixed", "--algorithm", "eana"})).code, 0);
  EXPECT_EQ(card(at_, "eana")["plan"]["initial_model"]["privacy"], "no claim");
  // Nor can a run that claims go on from there.
  EXPECT_EQ(at_.run({"resume", "eana", "--branch", "--algorithm", "lazydp", "--steps", "9"}).code,
            3);
}

TEST_F(Init, WeightsWithoutTheirCardMustBeDeclaredPublic) {
  fs::copy_file(at_ / "first/model/model.safetensors", at_ / "weights.safetensors");
  const std::string why = refused({"--init", "weights.safetensors"}, 3);
  EXPECT_NE(why.find("--init-is-public"), std::string::npos) << why;
  EXPECT_EQ(at_.run(train("a", {"--init", "weights.safetensors", "--init-is-public"})).code, 0);
  EXPECT_EQ(at_.run(train("b", {"--init", "first/model/model.safetensors"})).code, 0)
      << "its card is beside it";
  EXPECT_EQ(card(at_, "b")["plan"]["initial_model"]["privacy"], "claimed");
}

TEST_F(Init, EveryDifferenceOfShapeIsNamed) {
  const std::string why = refused(
      {"--init", "first", "--rows", "50,71", "--top", "9-1", "--interaction", "cat+dot"}, 2);
  EXPECT_NE(why.find(": tables.1.weight is 70 x 4 in it and 71 x 4 here; "), std::string::npos)
      << why;
  EXPECT_NE(why.find("; top.0.bias is 8 in it and 9 here; "), std::string::npos) << why;
  EXPECT_NE(why.find("; its interaction is dot and here cat+dot"), std::string::npos) << why;
  EXPECT_EQ(why.find("tables.0"), std::string::npos) << why;
}

TEST_F(Init, ADamagedOrEditedModelIsRefused) {
  std::string file = contents(at_ / "first/model/model.safetensors");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(file.data() + file.size() - sizeof(nan), &nan, sizeof(nan));
  at_.write("bad.safetensors", file);
  const std::string why = refused({"--init", "bad.safetensors", "--init-is-public"}, 2);
  EXPECT_NE(why.find("tables.1.weight has values that are not finite"), std::string::npos) << why;
  at_.write("first/model/model.safetensors", file);
  EXPECT_NE(refused({"--init", "first"}, 3).find("edited"), std::string::npos);
  EXPECT_NE(refused({"--init", "nowhere"}, 4).find("nowhere"), std::string::npos);
  refused({"--init-is-public"}, 2);
}

TEST_F(Init, FrozenPartsAreReleasedAsTheyWereGiven) {
  ASSERT_EQ(at_.run(train("dense", {"--init", "first", "--freeze", "tables"})).code, 0);
  ASSERT_EQ(at_.run(train("tables", {"--init", "first", "--freeze", "dense"})).code, 0);
  ASSERT_EQ(at_.run(train("some", {"--init", "first", "--freeze", "tables.1,top.0"})).code, 0);
  const auto same = [&](const std::string& run, const std::string& name) {
    return tensor(at_, run + "/model", name) == tensor(at_, "first/model", name);
  };
  for (const char* name : {"tables.0.weight", "tables.1.weight"}) {
    EXPECT_TRUE(same("dense", name));
    EXPECT_FALSE(same("tables", name));
    EXPECT_EQ(same("some", name), name == std::string("tables.1.weight"));
  }
  for (const char* name : {"bottom.0.weight", "top.0.weight", "top.0.bias", "top.2.bias"}) {
    EXPECT_FALSE(same("dense", name));
    EXPECT_TRUE(same("tables", name));
    EXPECT_EQ(same("some", name), std::string(name).starts_with("top.0"));
  }
  EXPECT_EQ(card(at_, "some")["plan"]["frozen"], json({"tables.1", "top.0"}));
  EXPECT_EQ(card(at_, "dense")["plan"]["frozen"], json({"tables.0", "tables.1"}));
  const std::string why = refused({"--freeze", "tables,elsewhere"}, 2);
  EXPECT_NE(why.find("bottom.0"), std::string::npos) << why;
  EXPECT_NE(refused({"--freeze", "tables,dense"}, 2).find("nothing to train"), std::string::npos);
}

TEST_F(Init, ARunGoesOnWhereverTheModelLiesNow) {
  const Words flags = {"--init", "first", "--init-is-public", "--freeze", "tables.0",
                       "--seed", "5"};
  ASSERT_EQ(at_.run(train("whole", flags)).code, 0);
  ASSERT_EQ(at_.run(train("kept", flags + Words{"--no-release"})).code, 0);
  fs::rename(at_ / "first", at_ / "moved");
  EXPECT_NE(at_.run({"release", "kept", "--quiet"}).code, 0);
  const Ran released = at_.run({"release", "kept", "--init", "moved"});
  ASSERT_EQ(released.code, 0) << released.err;
  EXPECT_EQ(weights(at_, "kept/model"), weights(at_, "whole/model"));
  EXPECT_EQ(card(at_, "kept")["plan"], card(at_, "whole")["plan"]);
}

TEST_F(Init, ARunCannotChangeWhatItBeganWith) {
  ASSERT_EQ(at_.run(train("other", {})).code, 0);
  ASSERT_EQ(at_.run(train("run", {"--init", "first"})).code, 0);
  const auto before = all_of(at_ / "run");
  for (const Words& change : {Words{"--init", "other"}, Words{"--init-is-public"}}) {
    const Ran ran = at_.run(Words{"resume", "run", "--branch", "--steps", "9"} + change);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(all_of(at_ / "run"), before);
  }
  const Ran longer = at_.run({"resume", "run", "--branch", "--steps", "9", "--freeze", "dense"});
  ASSERT_EQ(longer.code, 0) << longer.err;
  ASSERT_EQ(at_.run(train("fifteen", {"--steps", "15"})).code, 0);
  EXPECT_EQ(card(at_, "run")["claim"]["epsilon"], card(at_, "fifteen")["claim"]["epsilon"]);
  EXPECT_EQ(tensor(at_, "run/model", "top.0.weight"),
            tensor(at_, "run/model-step-6", "top.0.weight"));
}

TEST_F(Init, TablesInFilesBeginWithItsRows) {
  const Words flags = {"--init", "first", "--init-is-public", "--freeze", "tables.0",
                       "--seed", "5"};
  const Words files = {"--table-storage", "file:tables"};
  ASSERT_EQ(at_.run(train("memory", flags)).code, 0);
  ASSERT_EQ(at_.run(train("files", flags + files)).code, 0);
  EXPECT_EQ(weights(at_, "files/model"), weights(at_, "memory/model"));
  fs::remove_all(at_ / "tables");
  // The rows that were never read come from the run's own folder once it goes on.
  ASSERT_EQ(at_.run(train("kept", flags + files + Words{"--no-release"})).code, 0);
  const Ran released = at_.run({"release", "kept", "--quiet"});
  ASSERT_EQ(released.code, 0) << released.err;
  EXPECT_EQ(weights(at_, "kept/model"), weights(at_, "memory/model"));
}

// A log, and models of it.
class InitOnData : public testing::Test {
 protected:
  void SetUp() override {
    at_.write("schema.toml", kUserSchema);
    at_.write("log.csv", user_lines(3000));
    for (const char* salt : {"0", "1"}) {
      ASSERT_EQ(at_.run({"convert", "csv", "--schema", "schema.toml", "--salt", salt, "log.csv",
                         std::string("log") + salt + ".ldp"})
                    .code,
                0);
    }
    ASSERT_EQ(at_.run(train("log0.ldp", "first", {})).code, 0);
  }

  static Words train(const std::string& data, const std::string& out, const Words& more) {
    return Words{"train", "--quiet", "--data", data, "--out", out} +
           with({"--steps", "4", "--dim", "8", "--epsilon", "2", "--threads", "1"}, more);
  }

  Workplace at_;
};

TEST_F(InitOnData, RowsOfAnotherHashAreRefusedWhoeverTrainedThem) {
  for (const Words& flags :
       {Words{"--init", "first"}, Words{"--init", "first", "--init-is-public"}}) {
    const Ran ran = at_.run(train("log1.ldp", "second", flags));
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find("salt"), std::string::npos) << ran.err;
  }
  const Ran made_up = at_.run({"train", "--init", "first", "--init-is-public", "--rows", "300,64",
                               "--steps", "2", "--bottom", "13-8"});
  EXPECT_EQ(made_up.code, 2);
  EXPECT_NE(made_up.err.find("not of made-up data"), std::string::npos) << made_up.err;
}

TEST_F(InitOnData, ABudgetPaysForBothModels) {
  const auto run_with = [&](const Words& more) {
    return at_.json(Words{"train", "--data", "log0.ldp", "--dim", "8", "--steps", "4"} + more);
  };
  const json both = run_with({"--epsilon", "3", "--init", "first"});
  ASSERT_EQ(at_.last().code, 0) << at_.last().err;
  EXPECT_LE(both["epsilon"], 3.0);
  EXPECT_GT(both["epsilon"], 2.99);
  EXPECT_GT(both["noise_multiplier"], run_with({"--epsilon", "3"})["noise_multiplier"]);
  run_with({"--epsilon", "1.9", "--init", "first"});
  EXPECT_EQ(at_.last().code, 3);
  EXPECT_NE(at_.last().err.find("initial model have spent"), std::string::npos) << at_.last().err;
  // With the noise given, training stops in time.
  const double noise = run_with({"--epsilon", "2"})["noise_multiplier"];
  const Words as_before = {"--init", "first", "--noise-multiplier", std::to_string(noise)};
  const double all = run_with(as_before)["epsilon"];
  EXPECT_GT(all, 2.0);
  const json stopped = run_with(as_before + Words{"--epsilon", std::to_string((2.0 + all) / 2.0)});
  ASSERT_EQ(at_.last().code, 0) << at_.last().err;
  EXPECT_LT(stopped["epsilon"], (2.0 + all) / 2.0);
  EXPECT_TRUE(stopped["budget"]["spent"]);
}

TEST_F(InitOnData, AColumnIsFrozenByItsName) {
  // The model's sizes are those of the model that the run begins with: --dim need not be repeated.
  const Ran ran =
      at_.run({"train", "--quiet", "--data", "log0.ldp", "--steps", "4", "--out", "second",
               "--epsilon", "4", "--threads", "1", "--init", "first", "--freeze", "item"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(tensor(at_, "second/model", "tables.1.weight"),
            tensor(at_, "first/model", "tables.1.weight"));
  EXPECT_NE(tensor(at_, "second/model", "tables.0.weight"),
            tensor(at_, "first/model", "tables.0.weight"));
}

TEST_F(InitOnData, ASearchCannotCountWhatTheModelSpent) {
  at_.write("grid.toml", "init = \"first\"\nsteps = 4\nlr = [0.1, 1]\n");
  const Words search = {"tune",     "--grid",    "grid.toml", "--data",
                        "log0.ldp", "--epsilon", "9",         "--dry-run"};
  const Ran ran = at_.run(search);
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_NE(ran.err.find("its initial model has spent"), std::string::npos) << ran.err;
  at_.write("grid.toml", "init = \"first\"\ninit-is-public = true\nsteps = 4\nlr = [0.1, 1]\n");
  EXPECT_EQ(at_.run(search).code, 0) << at_.run(search).err;
}

TEST_F(InitOnData, ClaimsAboutOtherUnitsDoNotAddUp) {
  const Ran ran =
      at_.run(train("log0.ldp", "second", {"--init", "first", "--privacy-unit", "user"}));
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_NE(ran.err.find("do not add up"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace lazydp::cli
