// lazydp eval and lazydp predict, as a user runs them.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "lazydp/data/split.h"
#include "lazydp/data/synthetic/click_task.h"
#include "lazydp/data/synthetic/synthetic.h"
#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

constexpr const char* kSchema = R"(
[[column]]
name = "age"
role = "dense"
[[column]]
name = "user"
role = "categorical"
rows = 300
key = true
[[column]]
name = "tags"
role = "multi"
separator = "|"
rows = 64
[[column]]
name = "y"
role = "label"
positive = "1"
)";

std::string rows_of_text(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += std::to_string(i % 50) + ",u" + std::to_string(i % 200) + ",t" +
            std::to_string(i * 7 % 41) + "|t" + std::to_string(i % 3) + "," +
            std::to_string(i * 7 % 41 < 20) + "\n";
  }
  return text;
}

std::vector<double> numbers(const std::string& text) {
  std::istringstream lines(text);
  std::vector<double> values;
  for (std::string line; std::getline(lines, line);) values.push_back(std::stod(line));
  return values;
}

// A model that was trained on a.ldp and released in run/model.
class ReleasedModelOnDisk : public testing::Test {
 protected:
  ReleasedModelOnDisk() {
    place_.write("s.toml", kSchema);
    place_.write("a.csv", rows_of_text(4000));
    place_.run({"convert", "csv", "--schema", "s.toml", "a.csv", "a.ldp"});
    trained_ = place_.json({"train", "--data", "a.ldp", "--steps", "12", "--batch", "256", "--out",
                            "run", "--eval-every", "5", "--eval-examples", "100"});
  }
  void refuse(const Words& words, int code, const std::string& says) const {
    for (const char* verb : {"eval", "predict"}) {
      Words all = words;
      all.insert(all.begin(), verb);
      const Ran ran = place_.run(all);
      EXPECT_EQ(ran.code, code) << ran.err;
      EXPECT_EQ(ran.error_lines(), 1u) << ran.err;
      EXPECT_EQ(ran.out, "");
      EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
    }
  }

  Workplace place_;
  nlohmann::json trained_;
};

TEST_F(ReleasedModelOnDisk, MayHaveItsRowsInEightBits) {
  const Ran ran = place_.run(
      {"export", "int8", "run", "small", "--data", "a.ldp", "--test", "0.1", "--json", "n.json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("AUC "), std::string::npos) << ran.out;
  const auto numbers = nlohmann::json::parse(contents(place_ / "n.json"));
  EXPECT_DOUBLE_EQ(numbers["before"]["auc"].get<double>(), trained_["auc"].get<double>());
  EXPECT_NEAR(numbers["after"]["auc"].get<double>(), trained_["auc"].get<double>(), 0.02);
  EXPECT_LT(numbers["bytes_after"].get<double>(), numbers["bytes_before"].get<double>());
  EXPECT_EQ(place_.run({"verify", "small"}).code, 0);
  EXPECT_EQ(place_.json({"eval", "small", "a.ldp", "--test", "0.1"})["auc"],
            numbers["after"]["auc"]);

  const auto refused = [this](const Words& words, const std::string& says) {
    const Ran no = place_.run(words);
    EXPECT_EQ(no.code, 2) << no.err;
    EXPECT_EQ(no.error_lines(), 1u) << no.err;
    EXPECT_NE(no.err.find(says), std::string::npos) << no.err;
  };
  refused({"export", "int8", "small", "smaller"}, "in eight bits already");
  refused({"export", "int8", "run", "small"}, "name a new folder");
  refused({"export", "int8", "nowhere", "new"}, "nowhere");
  refused({"export", "int8", "run", "new", "--test", "0.1"}, "--data");
  refused({"train", "--data", "a.ldp", "--init", "small", "--dry-run"}, "eight bits a weight");
  EXPECT_FALSE(std::filesystem::exists(place_ / "new"));
}

TEST_F(ReleasedModelOnDisk, HasTheMetricsThatTrainingEndedWith) {
  for (const char* model : {"run", "run/model", "run/"}) {
    const auto json = place_.json({"eval", model, "a.ldp", "--test", "0.1"});
    ASSERT_EQ(place_.last().code, 0) << place_.last().err;
    for (const char* number : {"auc", "logloss", "normalised_entropy", "calibration"}) {
      EXPECT_EQ(json[number], trained_[number]) << number;
    }
    EXPECT_EQ(json["examples"], 394);  // about a tenth of 4,000: place_of_position()
    EXPECT_EQ(json["claim"]["epsilon"], trained_["epsilon"]);
  }
  const Ran ran = place_.run({"eval", "run", "a.ldp"});
  for (const char* text : {"4,000", "AUC", "log-loss", "normalised entropy", "calibration",
                           "epsilon", "as secret as it is"}) {
    EXPECT_NE(ran.out.find(text), std::string::npos) << text;
  }
}

// The log-loss of the scores, computed from the text, is the one that eval tells.
TEST_F(ReleasedModelOnDisk, PredictsOneScoreALineInTheOrderOfTheData) {
  const Ran ran = place_.run({"predict", "run", "a.ldp"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::vector<double> scores = numbers(ran.out);
  ASSERT_EQ(scores.size(), 4000u);
  double loss = 0.0;
  for (int i = 0; i < 4000; ++i) {
    const double p = scores[static_cast<std::size_t>(i)];
    loss -= std::log(i * 7 % 41 < 20 ? p : 1.0 - p) / 4000.0;
  }
  EXPECT_NEAR(loss, place_.json({"eval", "run", "a.ldp"})["logloss"].get<double>(), 1e-6);
  const Ran part = place_.run({"predict", "run", "a.ldp", "--test", "0.1"});
  const std::vector<double> held_out = numbers(part.out);
  std::size_t next = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (place_of_position(i) < 0.9) continue;
    ASSERT_LT(next, held_out.size());
    EXPECT_NEAR(held_out[next++], scores[i], 1e-6) << i;
  }
  EXPECT_EQ(next, held_out.size());
}

TEST_F(ReleasedModelOnDisk, RefusesDataThatMeansSomethingElseAndNamesTheColumn) {
  const auto other = [&](const std::string& from, const std::string& to) {
    std::string schema = kSchema;
    schema.replace(schema.find(from), from.size(), to);
    place_.write("b.toml", schema);
    ASSERT_EQ(place_.run({"convert", "csv", "--schema", "b.toml", "a.csv", "b.ldp"}).code, 0);
  };
  other("rows = 64", "rows = 65");
  refuse({"run", "b.ldp"}, 2, "column 'tags' differs: rows is 65, expected 64");
  other("name = \"user\"", "name = \"shop\"");
  refuse({"run", "b.ldp"}, 2, "column 'shop' stands where column 'user' is expected");
  other("role = \"dense\"", "role = \"dense\"\ntransform = \"none\"");
  refuse({"run", "b.ldp"}, 2, "column 'age' differs: transform is \"none\", expected \"log\"");
  other("role = \"dense\"", "role = \"ignore\"");
  refuse({"run", "b.ldp"}, 2, "column 'user' stands where column 'age' is expected");
  other("role = \"categorical\"\nrows = 300", "role = \"ignore\"");
  refuse({"run", "b.ldp"}, 2, "column 'tags' stands where column 'user' is expected");
  ASSERT_EQ(
      place_.run({"convert", "csv", "--schema", "s.toml", "--salt", "9", "a.csv", "b.ldp"}).code,
      0);
  refuse({"run", "b.ldp"}, 2, "salts");
}

TEST_F(ReleasedModelOnDisk, RefusesWhatIsNoModelOrWasEdited) {
  refuse({"s.toml", "a.ldp"}, 2, "neither a released model nor a run");
  refuse({"nowhere", "a.ldp"}, 2, "neither a released model nor a run");
  EXPECT_NE(place_.run({"eval", "run", "s.toml"}).err.find("is not a LazyDP data file"),
            std::string::npos);
  EXPECT_NE(place_.run({"predict", "run", "s.toml"}).err.find("s.toml:"), std::string::npos);
  refuse({"run", "nowhere"}, 4, "nowhere");
  refuse({"run"}, 2, "MODEL DATA");
  refuse({"run", "a.ldp", "--test", "0"}, 2, "leaves no examples");
  refuse({"run", "a.ldp", "--split-by", "user"}, 2, "needs --test");
  std::string card = contents(place_ / "run/model/card.json");
  card.replace(card.find("\"epsilon\": "), 12, "\"epsilon\": 0");
  place_.write("run/model/card.json", card);
  refuse({"run", "a.ldp"}, 3, "edited");
}

// A card of an earlier version does not say how its data was split: what a share names now may have
// been trained on then.
TEST_F(ReleasedModelOnDisk, OfAnEarlierVersionIsNotJudgedByAShare) {
  ASSERT_EQ(place_.run({"eval", "run", "a.ldp", "--test", "0.1"}).code, 0);
  const std::string card = contents(place_ / "run/model/card.json");
  EXPECT_NE(card.find("\"split\": \"by the hash of position, 10 % held out\""), std::string::npos);
  EXPECT_NE(card.find("nothing in its place"), std::string::npos) << "neighbours are named";
  // The weights hold a copy of the card: the same number of bytes, and both edited.
  for (const char* file : {"run/model/card.json", "run/model/model.safetensors"}) {
    std::string text = contents(place_ / file);
    for (const std::string& quote : {std::string("\""), std::string("\\\"")}) {
      const std::size_t at = text.find(std::string(quote).append("split").append(quote));
      if (at != std::string::npos) text.replace(at + quote.size(), 5, "spilt");
    }
    place_.write(file, text);
  }
  std::string edited = contents(place_ / "run/model/card.json");
  const Ran digest = place_.shell("b2sum -l 256 run/model/model.safetensors");
  const std::size_t at = edited.find("\"blake2b_256\": \"") + 16;
  edited.replace(at, 64, digest.out.substr(0, 64));
  place_.write("run/model/card.json", edited);
  ASSERT_EQ(place_.run({"eval", "run", "a.ldp"}).code, 0)
      << place_.run({"eval", "run", "a.ldp"}).err;
  refuse({"run", "a.ldp", "--test", "0.1"}, 2, "an earlier version");
}

TEST(EvalOfASyntheticModel, TakesAFileOfItsSizes) {
  const Workplace place;
  const auto trained = place.json({"train", "--steps", "3", "--batch", "1024", "--out", "run"});
  const ClickTask click = make_click_task(ClickSize::small);
  write_data_file((place / "click.ldp").string(), "click", {click.held_out.get()}, 1);
  const auto json = place.json({"eval", "run", "click.ldp"});
  ASSERT_EQ(place.last().code, 0) << place.last().err;
  EXPECT_EQ(json["auc"], trained["auc"]);
  ASSERT_EQ(place
                .run({"generate", "--rows", "20000,10", "--synthetic", "uniform", "--examples",
                      "10", "--bottom", "13-16", "u.ldp"})
                .code,
            0);
  const Ran ran = place.run({"eval", "run", "u.ldp"});
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(ran.err.find("column 'C1' has 20000 rows, expected at most 10000"), std::string::npos)
      << ran.err;
}

}  // namespace
}  // namespace lazydp::cli
