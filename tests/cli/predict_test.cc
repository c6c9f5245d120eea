// lazydp predict on text that has no label yet.

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "lazydp/cli/verbs/score_lines.h"
#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

constexpr const char* kSchema = R"(
header = true
missing = ["", "?"]
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

std::string value_of(int i, const std::string& column) {
  if (column == "age") return i % 9 == 0 ? "?" : std::to_string(i % 50);
  if (column == "user") return "u" + std::to_string(i % 200);
  if (column == "tags") {
    return "t" + std::to_string(i * 7 % 41) + (i % 3 == 0 ? "" : "|t" + std::to_string(i % 5));
  }
  if (column == "y") return std::to_string(i * 7 % 41 < 20 ? 1 : 0);
  return column + " \"" + std::to_string(i) + "\"";
}

std::string text_of(const std::vector<std::string>& columns, int count, bool header = true) {
  std::string text;
  for (int i = header ? -1 : 0; i < count; ++i) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      text += (c == 0 ? "" : ",") + (i < 0 ? columns[c] : value_of(i, columns[c]));
    }
    text += '\n';
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

constexpr int kExamples = 5000;  // more than one batch

class ModelForText : public testing::Test {
 protected:
  ModelForText() {
    place_.write("s.toml", kSchema);
    place_.write("a.csv", text_of({"age", "user", "tags", "y"}, kExamples));
    place_.run({"convert", "csv", "--schema", "s.toml", "a.csv", "a.ldp"});
    place_.run({"train", "--data", "a.ldp", "--steps", "12", "--batch", "256", "--out", "run"});
  }
  // The scores of the data file that was made of the same examples.
  std::vector<std::string> scores() const {
    return lines_of(place_.run({"predict", "run", "a.ldp"}).out);
  }
  void refuse(const Words& words, int code, const std::string& says) const {
    const Ran ran = place_.run(Words{"predict"} + words);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_EQ(ran.error_lines(), 1u) << ran.err;
    EXPECT_NE(ran.err.find(says), std::string::npos) << ran.err;
  }

  Workplace place_;
};

TEST_F(ModelForText, ScoresWhatHasNoLabelAsTheDataFileThatHas) {
  const std::vector<std::string> expected = scores();
  ASSERT_EQ(expected.size(), static_cast<std::size_t>(kExamples));
  place_.write("new.csv", text_of({"age", "user", "tags"}, kExamples));
  const Ran ran = place_.run({"predict", "run", "new.csv"});
  EXPECT_EQ(lines_of(ran.out), expected) << ran.err;
  EXPECT_EQ(lines_of(place_.run({"predict", "run", "a.csv"}).out), expected)
      << "a label is skipped";
  const Ran piped = place_.shell("gzip -c new.csv | \"$LAZYDP\" predict run -");
  EXPECT_EQ(lines_of(piped.out), expected) << piped.err;
}

TEST_F(ModelForText, TakesColumnsInAnyOrderAndKeepsTheOnesAskedFor) {
  const std::vector<std::string> expected = scores();
  place_.write("new.csv", text_of({"tags", "shop", "user", "age"}, 40));
  const Ran ran = place_.run({"predict", "run", "new.csv", "--keep", "user,shop"});
  const std::vector<std::string> lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), 41u) << ran.err;
  EXPECT_EQ(lines[0], "user,shop,score");
  EXPECT_EQ(lines[4], "u3,\"shop \"\"3\"\"\"," + expected[3]);

  const Ran json = place_.run({"predict", "run", "new.csv", "--keep", "shop", "--format", "jsonl"});
  const std::vector<std::string> objects = lines_of(json.out);
  ASSERT_EQ(objects.size(), 40u) << json.err;
  const auto object = nlohmann::json::parse(objects[3]);
  EXPECT_EQ(object["shop"], "shop \"3\"");
  EXPECT_EQ(object["score"].get<double>(), std::stod(expected[3]));
}

TEST_F(ModelForText, WithoutAHeaderTakesTheSchemasColumnsWithOrWithoutTheLabel) {
  std::string schema = kSchema;
  schema.replace(schema.find("true"), 4, "false");
  place_.write("s.toml", schema);
  place_.write("b.csv", text_of({"age", "user", "tags", "y"}, 300, false));
  place_.run({"convert", "csv", "--schema", "s.toml", "b.csv", "b.ldp"});
  place_.run({"train", "--data", "b.ldp", "--steps", "3", "--batch", "64", "--out", "bare"});
  place_.write("new.csv", text_of({"age", "user", "tags"}, 300, false));
  const Ran ran = place_.run({"predict", "bare", "new.csv"});
  EXPECT_EQ(lines_of(ran.out).size(), 300u) << ran.err;
  EXPECT_EQ(ran.out, place_.run({"predict", "bare", "b.ldp"}).out);
  EXPECT_EQ(ran.out, place_.run({"predict", "bare", "b.csv"}).out);
  place_.write("new.csv", "a,b\n");
  refuse({"bare", "new.csv"}, 2, "new.csv:1: the line has 2 columns; it must have 4, or 3");
}

TEST_F(ModelForText, RefusesTextThatItCannotScoreAndNamesTheLine) {
  place_.write("new.csv", "age,user\n1,u1\n");
  refuse({"run", "new.csv"}, 2, "'new.csv' has no column 'tags', which the model reads");
  place_.write("new.csv", "age,user,tags\n1,u1,t1\nold,u1,t1\n");
  refuse({"run", "new.csv"}, 2, "new.csv:3: age is 'old'; it must be a number");
  place_.write("new.csv", "age,user,tags\n\n1,u1\n");
  refuse({"run", "new.csv"}, 2, "new.csv:3: the line has 2 columns; it must have 3");
  place_.write("new.csv", "age,user,tags,user\n1,u1,t1,u2\n");
  refuse({"run", "new.csv"}, 2, "the column 'user' is twice");
  place_.write("new.csv", "age,user,tags\n1,\"u1,t1\n");
  refuse({"run", "new.csv"}, 2, "new.csv:2: a quote does not end");
  place_.write("new.csv", "age,user,tags\n1,u1,t1\n1,u1," + std::string(2 << 20, 'x') + "\n");
  refuse({"run", "new.csv"}, 2, "new.csv:3: the line is longer than 1048576 bytes");
  place_.write("new.csv", "");
  refuse({"run", "new.csv"}, 2, "there is nothing in 'new.csv'");
  place_.write("new.csv", "age,user,tags\n1,u1,t1\n");
  refuse({"run", "new.csv", "--keep", "shop"}, 2, "keep is 'shop', but 'new.csv' has no such");
  refuse({"run", "new.csv", "--test", "0.1"}, 2, "'new.csv' is text");
  refuse({"run", "new.csv", "--format", "parquet"}, 2, "lazydp.load(MODEL)");
  refuse({"run", "new.csv", "--format", "xml"}, 2, "csv or jsonl");
  refuse({"run", "a.ldp", "--keep", "user"}, 2, "holds hashes");
  refuse({"run", "nowhere.csv"}, 4, "nowhere.csv");
  place_.run({"train", "--steps", "1", "--batch", "64", "--out", "made-up"});
  refuse({"made-up", "new.csv"}, 2, "its card has no schema");
}

// Seven digits of the probability and of what is missing to 1, and no score that is not 1 reads 1.
TEST(ScoreText, TellsAProbabilityNearOneFromOne) {
  EXPECT_EQ(score_text(0.5), "0.5");
  EXPECT_EQ(score_text(0.9999), "0.9999");
  EXPECT_EQ(score_text(1.0 - 1e-9), "0.999999999");
  EXPECT_EQ(score_text(1e-9), "1e-09");
  EXPECT_EQ(score_text(1.0), "1");
  for (double logit = -40.0; logit < 36.0; logit += 0.37) {
    const double p = 1.0 / (1.0 + std::exp(-logit));
    const double read = std::stod(score_text(p));
    EXPECT_NEAR(read / p, 1.0, 1e-7) << logit;
    EXPECT_NEAR((1.0 - read) / (1.0 - p), 1.0, logit < 4.6 ? 1e-5 : 1e-6) << logit;
  }
}

}  // namespace
}  // namespace lazydp::cli
