// Training on data files, as a user does it.

#include <gtest/gtest.h>

#include "lazydp/data/synthetic/click_task.h"
#include "lazydp/data/synthetic/synthetic.h"
#include "tests/cli/program.h"
#include "tests/cli/user_data.h"

namespace lazydp::cli {
namespace {

// Training on a file and on the task that made it gives the same model to the last bit, with
// settling ahead or on read, and whatever the number of threads.
TEST(TrainOnData, IsTrainingOnWhatTheFileHolds) {
  const Workplace place;
  const ClickTask click = make_click_task(ClickSize::small);
  write_data_file((place / "click.ldp").string(), "click", {click.train.get()}, 1);
  write_data_file((place / "held.ldp").string(), "click", {click.held_out.get()}, 1);
  // The settings that would otherwise follow the kind of data.
  const Words rest = {"--interaction",
                      "dot",
                      "--lr",
                      "20",
                      "--dense-lr",
                      "2",
                      "--clip-norm",
                      "5",
                      "--dense-optimizer",
                      "sgd",
                      "--lr-schedule",
                      "poly:1",
                      "--steps",
                      "6",
                      "--batch",
                      "2048",
                      "--noise-multiplier",
                      "1",
                      "--seed",
                      "3",
                      "--eval-every",
                      "3",
                      "--calibrate",
                      "off"};
  const auto train = [&](Words words) {
    words.insert(words.begin(), "train");
    words.insert(words.end(), rest.begin(), rest.end());
    return place.json(words);
  };
  const auto made = train({"--synthetic", "click"});
  const auto read = train({"--data", "click.ldp", "--test", "held.ldp"});
  const auto other =
      train({"--data", "click.ldp", "--test", "held.ldp", "--settle", "ahead", "--threads", "1"});
  ASSERT_TRUE(read.contains("auc")) << place.last().err;
  for (const char* number : {"auc", "logloss", "loss"}) {
    EXPECT_EQ(made[number], read[number]) << number;
    EXPECT_EQ(made[number], other[number]) << number;
  }
  EXPECT_EQ(read["data"], "click.ldp");
  EXPECT_EQ(read["examples"], 200'000);
}

class TrainOnUsers : public testing::Test {
 protected:
  TrainOnUsers() {
    place_.write("s.toml", kUserSchema);
    place_.write("a.csv", user_lines(6000) + kTwoLinesWithoutUser);
    place_.run({"convert", "csv", "--schema", "s.toml", "a.csv", "a.ldp"});
  }

  Workplace place_;
};

TEST_F(TrainOnUsers, ProtectsAUserAndSaysSo) {
  const auto json = place_.json({"train", "--data", "a.ldp", "--privacy-unit", "user", "--test",
                                 "0", "--batch", "20", "--steps", "10"});
  ASSERT_EQ(place_.last().code, 0) << place_.last().err;
  EXPECT_EQ(json["units"], 202);  // each row without a key is a unit
  EXPECT_DOUBLE_EQ(json["sampling_rate"], 20.0 / 202.0);
  EXPECT_NE(
      json["claim"].get<std::string>().find("adding or removing all examples of one value of user"),
      std::string::npos);
  EXPECT_NE(json["claim"].get<std::string>().find(
                "what other examples say about that value is not protected"),
            std::string::npos);
  EXPECT_NEAR(json["epsilon"].get<double>(), 8.0, 0.1);  // the default budget
  EXPECT_EQ(json["examples_per_unit"], 32);
  EXPECT_NE(json["claim"].get<std::string>().find("a sampled unit sends up to 32 of its examples"),
            std::string::npos);
}

TEST_F(TrainOnUsers, ADryRunSaysWhatAUnitSends) {
  const auto json = place_.json({"train", "--data", "a.ldp", "--privacy-unit", "user", "--steps",
                                 "2", "--batch", "20", "--examples-per-unit", "all", "--dry-run"});
  EXPECT_EQ(json["a_unit_sends"], "all of its examples, whose mean gradient is clipped as a whole");
}

TEST_F(TrainOnUsers, TakesTheDataBesideTheFlagsAndRatesByEitherName) {
  const Words flags = {"--steps", "2", "--batch", "20", "--dry-run"};
  const auto named = place_.json(Words{"train", "--data", "a.ldp", "--lr", "0.25"} + flags);
  ASSERT_EQ(place_.last().code, 0) << place_.last().err;
  auto beside = place_.json(Words{"train", "a.ldp", "--learning-rate", "0.25"} + flags);
  ASSERT_EQ(place_.last().code, 0) << place_.last().err;
  EXPECT_EQ(beside["table_rate"], 0.25);
  for (const char* timing : {"step_ms", "seconds"}) beside[timing] = named[timing];
  EXPECT_EQ(beside, named);
  EXPECT_EQ(place_.run(Words{"train", "a.ldp", "--data", "a.ldp"} + flags).code, 0);
  const Ran both = place_.run(Words{"train", "a.ldp", "--data", "b.ldp"} + flags);
  EXPECT_EQ(both.code, 2);
  EXPECT_NE(both.err.find("data is 'b.ldp', and 'a.ldp' stands beside the flags"),
            std::string::npos);
  EXPECT_EQ(place_.run(Words{"train", "a.ldp", "b.ldp"} + flags).code, 2);
  EXPECT_EQ(place_.run(Words{"train", "none.ldp"} + flags).code, 4);
}

TEST_F(TrainOnUsers, ShowsTheAreaWithinUsers) {
  const auto json = place_.json({"train", "--data", "a.ldp", "--privacy-unit", "user", "--batch",
                                 "20", "--steps", "4", "--out", "g", "--eval-every", "2"});
  ASSERT_EQ(place_.last().code, 0) << place_.last().err;
  EXPECT_EQ(json["group_by"], "user");
  EXPECT_GT(json["gauc"].get<double>(), 0.0);
  EXPECT_NE(contents(place_ / "g/metrics.jsonl").find("\"gauc\":"), std::string::npos);
  EXPECT_NE(contents(place_ / "g/report.html").find("GAUC"), std::string::npos);
  EXPECT_EQ(contents(place_ / "g/model/card.json").find("gauc"), std::string::npos);
  const auto scored = place_.json(
      {"eval", "g", "a.ldp", "--test", "0.1", "--split-by", "user", "--group-by", "user"});
  EXPECT_DOUBLE_EQ(scored["gauc"].get<double>(), json["gauc"].get<double>());
  EXPECT_FALSE(place_.json({"eval", "g", "a.ldp"}).contains("gauc"));
}

// A run of an earlier version has no such line in its config.toml, and its units send one example.
TEST_F(TrainOnUsers, AnotherNumberOfExamplesIsAnotherMechanism) {
  const Words begin = {"train", "--data",
                       "a.ldp", "--privacy-unit",
                       "user",  "--batch",
                       "20",    "--steps",
                       "6",     "--out",
                       "u",     "--noise-multiplier",
                       "1",     "--examples-per-unit",
                       "1",     "--no-release"};
  ASSERT_EQ(place_.run(begin).code, 0) << place_.last().err;
  std::string config = contents(place_ / "u/config.toml");
  const auto line = config.find("examples-per-unit");
  ASSERT_NE(line, std::string::npos);
  config.erase(line, config.find('\n', line) + 1 - line);
  place_.write("u/config.toml", config);
  const Ran refused = place_.run({"resume", "u", "--examples-per-unit", "4", "--more-steps", "2"});
  EXPECT_EQ(refused.code, 3) << refused.err;
  EXPECT_NE(refused.err.find("examples_per_unit was 1 and is 4"), std::string::npos) << refused.err;
  const Ran branched =
      place_.run({"resume", "u", "--examples-per-unit", "4", "--more-steps", "2", "--branch"});
  EXPECT_EQ(branched.code, 0) << branched.err;
  EXPECT_NE(contents(place_ / "u/config.toml").find("examples-per-unit = \"4\""),
            std::string::npos);
}

// A run that went wrong says so on the screen and the page, which are secret, and on no card.
TEST_F(TrainOnUsers, SaysWhenTheTrainingDiverged) {
  const Words long_steps = {"train",    "--data",  "a.ldp",   "--dense-optimizer",
                            "sgd",      "--lr",    "2000",    "--dense-lr",
                            "300",      "--batch", "256",     "--noise-multiplier",
                            "2",        "--steps", "80",      "--lr-schedule",
                            "constant", "--out",   "diverged"};
  const Ran ran = place_.run(long_steps);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("careful: the training loss is"), std::string::npos) << ran.err;
  EXPECT_NE(ran.out.find("Careful: the training loss ended at"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("Careful: the normalised entropy is"), std::string::npos) << ran.out;
  EXPECT_NE(contents(place_ / "diverged/report.html").find("Careful: the training loss ended at"),
            std::string::npos);
  EXPECT_EQ(contents(place_ / "diverged/model/card.json").find("areful"), std::string::npos);
}

TEST_F(TrainOnUsers, SaysWhenAStepHasHardlyAnExample) {
  const Ran ran = place_.run({"train", "--data", "a.ldp", "--batch", "4", "--steps", "3"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("Careful: a step expects 4 examples"), std::string::npos) << ran.out;
}

TEST_F(TrainOnUsers, ADryRunShowsAndExplainsWhatWasChosen) {
  const Words flags = {"train", "--data", "a.ldp", "--privacy-unit", "user", "--dry-run"};
  const auto json = place_.json(flags);
  EXPECT_EQ(json["interaction"], "linear+cat+dot");
  EXPECT_EQ(json["dense_optimizer"], "adam");
  EXPECT_GT(json["table_rate"].get<double>(), 0.0);
  const Ran ran = place_.run(flags);
  EXPECT_NE(ran.out.find("all noise of the run adds up to 0.15"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("never from the data"), std::string::npos) << ran.out;
}

TEST_F(TrainOnUsers, AnotherRuleTakesARateOfItsOwn) {
  const Words begin = {"train",   "--data", "a.ldp", "--batch", "256",
                       "--steps", "4",      "--out", "k",       "--noise-multiplier",
                       "1"};
  ASSERT_EQ(place_.run(begin).code, 0) << place_.last().err;
  const std::string kept = contents(place_ / "k/config.toml");
  EXPECT_NE(kept.find("dense-optimizer = \"adam\""), std::string::npos) << kept;
  EXPECT_NE(kept.find("dense-lr = \"0.02\""), std::string::npos) << kept;
  const Ran ran =
      place_.run({"resume", "k", "--dense-optimizer", "sgd", "--more-steps", "2", "--branch"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(contents(place_ / "k/config.toml").find("dense-lr = \"0.5\""), std::string::npos);
}

TEST_F(TrainOnUsers, SplitsByUser) {
  const auto json = place_.json({"train", "--data", "a.ldp", "--split-by", "user", "--steps", "1"});
  EXPECT_EQ(json["split"], "by the hash of user, 10 % held out");
  EXPECT_EQ(json["examples"].get<int>() + json["held_out_examples"].get<int>(), 6002);
  EXPECT_EQ(json["privacy_unit"], "one example");
}

TEST_F(TrainOnUsers, TakesFilesForTestAndValidation) {
  ASSERT_EQ(place_.run({"convert", "csv", "--schema", "a.ldp", "a.csv", "b.ldp"}).code, 0);
  const auto json = place_.json({"train", "--data", "a.ldp", "--test", "b.ldp", "--validation",
                                 "0.1", "--steps", "4", "--eval-every", "2"});
  EXPECT_EQ(json["held_out_examples"], 6002);
  EXPECT_EQ(json["examples"], 6002 - 593);  // 593 of these positions are: place_of_position()
}

TEST_F(TrainOnUsers, RefusesWhatDoesNotGoTogether) {
  ASSERT_EQ(
      place_.run({"convert", "csv", "--schema", "s.toml", "--salt", "9", "a.csv", "b.ldp"}).code,
      0);
  ASSERT_EQ(place_.run({"generate", "--rows", "10", "--examples", "10", "c.ldp"}).code, 0);
  const auto refuse = [&](Words words, const std::string& says) {
    words.insert(words.begin(), "train");
    const Ran ran = place_.run(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(ran.error_lines(), 1u) << ran.err;
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
  };
  refuse({"--data", "a.ldp", "--test", "b.ldp"}, "the salts of their hashes differ");
  refuse({"--data", "a.ldp", "--test", "c.ldp"},
         "column 'I1' stands where column 'user' is expected");
  refuse({"--data", "a.ldp", "--privacy-unit", "item"}, "it must be example or user");
  refuse({"--data", "a.ldp", "--split-by", "y"}, "it must be position or user");
  refuse({"--data", "a.ldp", "--split-by", "position", "--privacy-unit", "user"},
         "splits are by unit");
  refuse({"--data", "a.ldp", "--privacy-unit", "user", "--sampling", "shuffled"},
         "units come to steps");
  refuse({"--data", "a.ldp", "--examples-per-unit", "4"}, "it needs --privacy-unit COLUMN");
  refuse({"--data", "a.ldp", "--privacy-unit", "user", "--examples-per-unit", "0"}, "from 1 to");
  refuse({"--data", "a.ldp", "--group-by", "item"}, "it must be none or user");
  refuse({"--data", "a.ldp", "--test", "1"}, "from 0 to below 1");
  refuse({"--data", "a.ldp", "--test", "0.6", "--validation", "0.5"}, "leave some to train on");
  refuse({"--data", "a.ldp", "--synthetic", "click"}, "give one of the two");
  refuse({"--data", "a.ldp", "--rows", "10"}, "whose schema says that");
  refuse({"--data", "a.ldp", "--bottom", "3-8-16"}, "it must begin with 1");
  refuse({"--data", "a.ldp", "--test", "0", "--eval-every", "1"}, "nothing is held out");
  refuse({"--privacy-unit", "user"}, "it needs --data");
  refuse({"--data", "s.toml"}, "is not a LazyDP data file");
}

TEST_F(TrainOnUsers, ReleasesASchemaAndTheProtectedUnitOnTheCard) {
  const Ran ran = place_.run({"train", "--data", "a.ldp", "--privacy-unit", "user", "--steps", "3",
                              "--batch", "20", "--out", "r"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto card = nlohmann::json::parse(contents(place_ / "r/model/card.json"));
  EXPECT_EQ(card["data"]["schema"]["column"][0]["name"], "user");
  EXPECT_EQ(card["data"]["schema"]["salt"], "0");
  EXPECT_NE(card["claim"]["unit"].get<std::string>().find("all examples of one value of user"),
            std::string::npos);
}

// The file may lie elsewhere when a run continues; its contents may not have changed.
TEST_F(TrainOnUsers, GoesOnOnlyWithItsOwnData) {
  const Words begin = {"train",
                       "--data",
                       "a.ldp",
                       "--steps",
                       "4",
                       "--batch",
                       "64",
                       "--out",
                       "r",
                       "--no-release",
                       "--seed",
                       "1",
                       "--noise-multiplier",
                       "1"};
  ASSERT_EQ(place_.run(begin).code, 0);
  std::string text = contents(place_ / "a.csv");
  text[0] = 'v';  // one value of one line
  place_.write("b.csv", text);
  ASSERT_EQ(place_.run({"convert", "csv", "--schema", "s.toml", "b.csv", "b.ldp"}).code, 0);
  const Ran other = place_.run({"resume", "r", "--data", "b.ldp"});
  EXPECT_NE(other.code, 0);
  EXPECT_NE(other.err.find("data"), std::string::npos) << other.err;
  std::filesystem::rename(place_ / "a.ldp", place_ / "moved.ldp");
  EXPECT_EQ(place_.run({"release", "r"}).code, 4);
  const Ran released = place_.run({"release", "r", "--data", "moved.ldp"});
  EXPECT_EQ(released.code, 0) << released.err;
  const Ran moved = place_.run({"resume", "r", "--data", "moved.ldp", "--steps", "6"});
  EXPECT_EQ(moved.code, 0) << moved.err;
}

// A page that was damaged is an I/O error, not a model.
TEST_F(TrainOnUsers, StopsAtADamagedPage) {
  std::string bytes = contents(place_ / "a.ldp");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  place_.write("a.ldp", bytes);
  const Ran ran = place_.run({"train", "--data", "a.ldp", "--test", "0", "--epochs", "5"});
  EXPECT_EQ(ran.code, 4) << ran.err;
  EXPECT_NE(ran.err.find("'a.ldp' is damaged: the checksum of page"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace lazydp::cli
