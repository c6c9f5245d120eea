// JSON lines become the examples that the same values in separated text become.

#include "lazydp/data/text/json_lines.h"

#include <gtest/gtest.h>

#include "lazydp/base/error.h"
#include "tests/data/converting.h"

namespace lazydp {
namespace {

class JsonLines : public Converting {
 protected:
  Conversion json(const std::string& text, std::uint64_t max_bad = 0) const {
    folder_.write("in", text);
    return convert({.inputs = {path("in")},
                    .output = path("out"),
                    .schema = schema_,
                    .format = json_lines(),
                    .max_bad_lines = max_bad});
  }
  std::string json_complaint(const std::string& text) const {
    const Conversion done = json(text);
    EXPECT_TRUE(done.stopped) << text;
    if (done.first_bad.empty()) return "none";
    return std::to_string(done.first_bad[0].column) + ": " + done.first_bad[0].reason;
  }
};

TEST_F(JsonLines, AreWhatTheSameValuesInTextAre) {
  run("alice,41.5,a|b,yes,125.5\nbob,-3,,no,?\n\n?,1e3,x,Yes,2024-01-31\n,,7|8,no,12\n");
  const std::string plain = contents(folder_ / "out");
  const Conversion done = json(
      "{\"user\":\"alice\",\"age\":41.5,\"tags\":[\"a\",\"b\"],\"y\":\"yes\",\"time\":125.5}\n"
      "{\"time\":null,\"tags\":[],\"y\":\"no\",\"age\":-3,\"user\":\"bob\"}\r\n"
      "\n"
      "{\"user\":\"?\",\"age\":1e3,\"tags\":\"x\",\"y\":\"Yes\",\"time\":\"2024-01-31\","
      "\"more\":{\"user\":[1,{}]}}\n"
      "{\"tags\":[7,null,8],\"y\":\"no\",\"time\":12}");
  EXPECT_EQ(done.examples, 4u);
  EXPECT_EQ(done.blank, 1u);
  EXPECT_TRUE(contents(folder_ / "out") == plain);
}

TEST_F(JsonLines, KeepNumbersAsTheyAreWrittenAndTakeTruth) {
  schema_.columns[3].positive = {"true"};
  schema_.columns[3].negative = {"false"};
  run("9007199254740993,1,1.0|12345678901234567890123,true,3\n-5,0,x,false,3\n");
  const std::string plain = contents(folder_ / "out");
  json(
      "{\"user\":9007199254740993,\"age\":true,\"tags\":[1.0,12345678901234567890123],"
      "\"y\":true,\"time\":3}\n"
      "{\"user\":-5,\"age\":false,\"tags\":\"x\",\"y\":false,\"time\":3}\n");
  EXPECT_TRUE(contents(folder_ / "out") == plain);
}

TEST_F(JsonLines, SayWhyALineIsNoExample) {
  const auto object = [](const std::string& members) {
    return "{\"user\":\"a\",\"age\":1,\"tags\":[],\"time\":1," + members + "}\n";
  };
  EXPECT_EQ(json_complaint(object("\"y\":\"maybe\"")),
            "1: y is 'maybe'; it must be one of the values that the schema has for the label");
  EXPECT_EQ(json_complaint(object("\"x\":1")), "1: y is ''; it must be there: it is the label");
  EXPECT_EQ(json_complaint(object("\"y\":[\"yes\"]")),
            "1: y is a list; only a column of role multi can have several values");
  EXPECT_EQ(json_complaint(object("\"y\":{\"a\":1}")),
            "1: y is an object, or a list that holds one; it must be a value or a list of values");
  EXPECT_EQ(json_complaint(object("\"y\":\"yes\",\"user\":\"b\"")),
            "1: the object has 'user' twice");
  EXPECT_EQ(
      json_complaint("{\"user\":\"a\",\"age\":1,\"tags\":[[1]],\"time\":1,\"y\":\"yes\"}\n"),
      "1: tags is an object, or a list that holds one; it must be a value or a list of values");
  EXPECT_TRUE(json_complaint("{\"user\":\"a\"\n").find("this is no object of JSON") !=
              std::string::npos);
  EXPECT_EQ(json_complaint("7\n"),
            "1: the line is no object; JSON lines have one a line (jq -c '.[]' makes them of a "
            "list)");
  EXPECT_TRUE(json_complaint("[{\"user\":1}]\n").find("jq -c") != std::string::npos);
  EXPECT_TRUE(json_complaint("alice,1,a,yes,3\n").find("no object of JSON") != std::string::npos);
  EXPECT_EQ(json_complaint(std::string("{\"y\":\"\0\"}\n", 10)).substr(0, 7), "7: the ");
  const std::string deep(200'000, '[');
  EXPECT_NE(json_complaint("{\"z\":" + deep + "\n").find("no object of JSON"), std::string::npos);
}

TEST_F(JsonLines, RefuseAColumnThatNoRecordHas) {
  const std::string record = "{\"usr\":\"a\",\"age\":1,\"tags\":[],\"time\":1,\"y\":\"yes\"}\n";
  try {
    json(record + record);
    ADD_FAILURE();
  } catch (const UserError& error) {
    EXPECT_EQ(error.what(),
              std::string("no record has 'user', a column of the schema; give it role = "
                          "\"ignore\" if that is so"));
  }
  EXPECT_EQ(folder_.files(), std::vector<std::string>{"in"});
  schema_.columns[0].role = Role::ignore;
  schema_.columns[0].key = false;
  EXPECT_EQ(json(record).examples, 1u);
}

TEST_F(JsonLines, LearnAVocabularyAsTextDoes) {
  std::string text;
  std::string lines;
  for (int i = 0; i < 50; ++i) {
    const std::string user = "u" + std::to_string(i % 7);
    text += user + ",1,a,yes,3\n";
    lines += "{\"user\":\"" + user + "\",\"age\":1,\"tags\":[\"a\"],\"y\":\"yes\",\"time\":3}\n";
  }
  folder_.write("text", text);
  folder_.write("lines", lines);
  EXPECT_EQ(schema_text(learn_vocabulary(schema_, {path("text")}, 8, separated_text(schema_))),
            schema_text(learn_vocabulary(schema_, {path("lines")}, 8, json_lines())));
}

}  // namespace
}  // namespace lazydp
