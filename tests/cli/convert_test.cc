// lazydp convert, generate and inspect as a user runs them.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

constexpr const char* kSchema = R"(
[[column]]
name = "user"
role = "categorical"
rows = 100
key = true
[[column]]
name = "age"
role = "dense"
[[column]]
name = "y"
role = "label"
positive = "1"
negative = "0"
)";

std::string some_lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += "u" + std::to_string(i % 37) + "," + std::to_string(i) + "," +
            (i % 3 == 0 ? "1" : "0") + "\n";
  }
  return text;
}

class Convert : public testing::Test {
 protected:
  Convert() { place_.write("s.toml", kSchema); }

  Ran csv(const Words& files) const {
    Words words = {"convert", "csv", "--schema", "s.toml"};
    words.insert(words.end(), files.begin(), files.end());
    return place_.run(words);
  }

  Workplace place_;
};

TEST_F(Convert, MakesAFileThatInspectShows) {
  place_.write("a.csv", some_lines(1000));
  ASSERT_EQ(csv({"a.csv", "a.ldp"}).code, 0);
  const auto json = place_.json({"inspect", "a.ldp", "--verify"});
  EXPECT_EQ(json["examples"], 1000);
  EXPECT_EQ(json["positives"], 334);
  EXPECT_EQ(json["schema"]["column"][0]["name"], "user");
  const Ran shown = place_.run({"inspect", "a.ldp", "--show", "2"});
  EXPECT_NE(shown.out.find("1,000 examples, 33.40 % of them positive"), std::string::npos);
  EXPECT_NE(shown.out.find("  1: label 0; dense 0.693147; rows "), std::string::npos) << shown.out;
}

TEST_F(Convert, ReadsAPipeAndPackedFilesAlike) {
  place_.write("a.csv", some_lines(1000));
  ASSERT_EQ(csv({"a.csv", "a.ldp"}).code, 0);
  ASSERT_EQ(place_.shell("cat a.csv | \"$LAZYDP\" convert csv --schema s.toml - b.ldp").code, 0);
  EXPECT_TRUE(contents(place_ / "a.ldp") == contents(place_ / "b.ldp"));
  ASSERT_EQ(place_.shell("gzip -c a.csv | \"$LAZYDP\" convert csv --schema s.toml - c.ldp").code,
            0);
  EXPECT_TRUE(contents(place_ / "a.ldp") == contents(place_ / "c.ldp"));
}

TEST_F(Convert, ShowsTheFirstBadLinesAndDecides) {
  std::string text = some_lines(100);
  for (int i = 0; i < 8; ++i) text += "bad\n";
  place_.write("a.csv", text);
  const Ran refused = csv({"a.csv", "a.ldp"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("a.csv:101:4: the line has 1 column; it must have 3\n"),
            std::string::npos)
      << refused.err;
  EXPECT_NE(refused.err.find("and 3 more\n"), std::string::npos);
  EXPECT_NE(refused.err.find("nothing was written"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(place_ / "a.ldp"));
  EXPECT_EQ(csv({"--max-bad-lines", "7", "a.csv", "a.ldp"}).code, 2);
  const auto json = place_.json(
      {"convert", "csv", "--schema", "s.toml", "--max-bad-lines", "8", "a.csv", "a.ldp"});
  EXPECT_EQ(json["bad_lines"], 8);
  EXPECT_EQ(json["first_bad_lines"].size(), 5u);
  EXPECT_EQ(json["examples"], 100);
}

TEST_F(Convert, TellsOfBytesThatAreNoTextInJson) {
  place_.write("a.csv", some_lines(2) + "u1,\xff\xfe,1\n");
  const auto json = place_.json(
      {"convert", "csv", "--schema", "s.toml", "--max-bad-lines", "1", "a.csv", "a.ldp"});
  EXPECT_EQ(json["bad_lines"], 1) << place_.last().err;
}

// A gigabyte without a newline takes no more memory than short lines do.
TEST_F(Convert, SkipsALineOfAGigabyteInConstantMemory) {
  place_.write("a.csv", some_lines(10));
  std::filesystem::resize_file(place_ / "a.csv", (std::uintmax_t{1} << 30) + 200);  // sparse: NULs
  ASSERT_EQ(place_.shell("printf '\\nu1,5,1\\n' >> a.csv").code, 0);
  const auto json = place_.json(
      {"convert", "csv", "--schema", "s.toml", "--max-bad-lines", "1", "a.csv", "a.ldp"});
  ASSERT_EQ(place_.last().code, 0) << place_.last().err;
  EXPECT_EQ(json["examples"], 11);
  EXPECT_EQ(json["bad_lines"], 1);
  EXPECT_EQ(json["first_bad_lines"][0]["line"], 11);
  EXPECT_LT(json["peak_rss_bytes"], 200'000'000);
}

TEST_F(Convert, LeavesNothingWhenItIsKilledOrTheDiskIsFull) {
  const Words before = {"a.csv", "s.toml"};
  place_.write("a.csv", some_lines(20'000));
  const Ran full =
      place_.shell("ulimit -f 64; \"$LAZYDP\" convert csv --schema s.toml a.csv a.ldp");
  EXPECT_EQ(full.code, 4) << full.err;
  EXPECT_NE(full.err.find("File too large"), std::string::npos) << full.err;
  EXPECT_EQ(place_.files(), before);
  // The pipe ends later than it is killed.
  place_.shell(
      "{ cat a.csv; sleep 2; } | timeout -s KILL 1 \"$LAZYDP\" convert csv --schema s.toml - b");
  EXPECT_EQ(place_.files(), before);
}

TEST_F(Convert, RefusesToReplaceWhatIsNoDataFile) {
  place_.write("a.csv", some_lines(10));
  place_.write("b.csv", some_lines(10));
  const Ran forgot = csv({"a.csv", "b.csv"});
  EXPECT_EQ(forgot.code, 2);
  EXPECT_NE(forgot.err.find("'b.csv' is there already, and is no data file"), std::string::npos);
  EXPECT_EQ(contents(place_ / "b.csv"), some_lines(10));
  EXPECT_EQ(csv({"a.csv", "./a.csv"}).code, 2);
  EXPECT_EQ(csv({"a.csv"}).code, 2);
  EXPECT_EQ(csv({"-", "-", "a.ldp"}).code, 2);
  EXPECT_EQ(csv({"a.csv", "a.ldp"}).code, 0);
  EXPECT_EQ(csv({"b.csv", "a.ldp"}).code, 0);  // a data file may be replaced
}

TEST_F(Convert, SaysWhatCannotBeRead) {
  place_.write("empty.csv", "");
  EXPECT_EQ(csv({"none.csv", "a.ldp"}).code, 4);
  EXPECT_EQ(csv({"empty.csv", "a.ldp"}).code, 2);
  EXPECT_EQ(place_.run({"convert", "csv", "empty.csv", "a.ldp"}).code, 2);
  EXPECT_EQ(place_.run({"convert", "csv", "--schema", "none", "empty.csv", "a.ldp"}).code, 4);
  EXPECT_EQ(place_.run({"inspect", "s.toml"}).code, 2);
  EXPECT_EQ(place_.run({"inspect"}).code, 2);
}

TEST_F(Convert, TakesTheSchemaOfADataFile) {
  place_.write("a.csv", some_lines(10));
  ASSERT_EQ(csv({"--salt", "7", "a.csv", "a.ldp"}).code, 0);
  ASSERT_EQ(place_.run({"convert", "csv", "--schema", "a.ldp", "a.csv", "b.ldp"}).code, 0);
  EXPECT_TRUE(contents(place_ / "a.ldp") == contents(place_ / "b.ldp"));
}

TEST_F(Convert, SaysThatAVocabularyIsNotCovered) {
  place_.write("a.csv", some_lines(1000));
  const Ran ran = csv({"--min-count", "28", "a.csv", "a.ldp"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("not covered by epsilon"), std::string::npos);
  EXPECT_EQ(place_.json({"inspect", "a.ldp"})["schema"]["column"][0]["rows"], 3);  // u0 has 28
  const Ran trained = place_.run({"train", "--data", "a.ldp", "--steps", "2"});
  EXPECT_NE(trained.out.find("Not covered by epsilon: what the schema of a.ldp took"),
            std::string::npos);
  EXPECT_EQ(
      place_.shell("cat a.csv | \"$LAZYDP\" convert csv --schema s.toml --min-count 2 - b").code,
      2);
}

TEST_F(Convert, GuessesASchemaThatWorks) {
  std::string text = "user_id\tage\ttags\tclick\n";
  for (int i = 0; i < 500; ++i) {
    text += "u" + std::to_string(i % 50) + "\t" + std::to_string(i * 37 % 91) + ".5\ta|b" +
            std::to_string(i % 3) + "\t" + std::to_string(i % 4 == 0) + "\n";
  }
  place_.write("a.tsv", text);
  ASSERT_EQ(place_.run({"convert", "csv", "--guess", "a.tsv", "g.toml"}).code, 0);
  const Ran ran = place_.run({"convert", "csv", "--schema", "g.toml", "a.tsv", "a.ldp"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto columns = place_.json({"inspect", "a.ldp"})["schema"]["column"];
  EXPECT_EQ(columns[0]["role"], "categorical");
  EXPECT_EQ(columns[0]["key"], true);
  EXPECT_EQ(columns[1]["role"], "dense");
  EXPECT_EQ(columns[2]["role"], "multi");
  EXPECT_EQ(columns[3]["role"], "label");
  EXPECT_EQ(columns[3]["positive"][0], "1");
  EXPECT_NE(contents(place_ / "g.toml").find("not covered by epsilon"), std::string::npos);
}

// What a guess took from the data reaches the card, which says that no epsilon covers it.
TEST_F(Convert, SaysOnTheCardThatAGuessIsNotCovered) {
  std::string text = "row,user_id,shop,click\n";
  for (int i = 0; i < 400; ++i) {
    text += std::to_string(i) + "," + std::to_string(i * 7919 % 40) + "," +
            std::to_string(i * 31 % 45) + "," + std::to_string(i % 3 == 0) + "\n";
  }
  place_.write("a.csv", text);
  const Ran guessed = place_.run({"convert", "csv", "--guess", "a.csv", "g.toml"});
  ASSERT_EQ(guessed.code, 0) << guessed.err;
  EXPECT_NE(guessed.out.find("'row' is ignored: it differs in every row\n"), std::string::npos)
      << guessed.out;
  EXPECT_NE(guessed.out.find("'user_id' is an id, by its name"), std::string::npos);
  EXPECT_NE(guessed.out.find("'shop' is an id, because its whole numbers repeat"),
            std::string::npos);
  ASSERT_EQ(place_.run({"convert", "csv", "--schema", "g.toml", "a.csv", "a.ldp"}).code, 0);
  ASSERT_EQ(place_.run({"train", "--data", "a.ldp", "--steps", "2", "--out", "run"}).code, 0);
  const auto card = nlohmann::json::parse(contents(place_ / "run/model/card.json"));
  EXPECT_EQ(card["claim"]["not_covered"],
            "what the schema took from the data: roles and numbers of rows, guessed from the "
            "first lines");
}

TEST_F(Convert, ReadsJsonLinesAsItReadsText) {
  std::string lines;
  for (int i = 0; i < 1000; ++i) {
    lines += "{\"y\": " + std::string(i % 3 == 0 ? "1" : "0") + ", \"age\": " + std::to_string(i) +
             ", \"user\": \"u" + std::to_string(i % 37) + "\"}\n";
  }
  place_.write("a.csv", some_lines(1000));
  place_.write("a.jsonl", lines);
  ASSERT_EQ(csv({"a.csv", "a.ldp"}).code, 0);
  const Words jsonl = {"convert", "jsonl", "--schema", "s.toml"};
  const Ran ran = place_.run(jsonl + Words{"a.jsonl", "b.ldp"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(contents(place_ / "a.ldp") == contents(place_ / "b.ldp"));
  const Ran text = place_.run(jsonl + Words{"a.csv", "c.ldp"});
  EXPECT_EQ(text.code, 2);
  EXPECT_NE(text.err.find("a.csv:1:1: this is no object of JSON"), std::string::npos) << text.err;
  const Ran json = csv({"a.jsonl", "c.ldp"});
  EXPECT_EQ(json.code, 2);
  EXPECT_NE(json.err.find("'a.jsonl' is JSON, not separated text; convert it with lazydp convert "
                          "jsonl"),
            std::string::npos)
      << json.err;
  EXPECT_EQ(place_.run({"convert", "jsonl", "a.jsonl", "c.ldp"}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(place_ / "c.ldp"));
}

TEST_F(Convert, JoinsASecondFile) {
  place_.write("s.toml", std::string(kSchema) +
                             "[[column]]\nname = \"town\"\n"
                             "role = \"categorical\"\nrows = 50\n");
  place_.write("a.csv", some_lines(10));
  place_.write("towns.csv", "user,town\nu0,Rome\nu1,Oslo\n");
  const Ran joined = csv({"--join", "towns.csv:user", "a.csv", "a.ldp"});
  ASSERT_EQ(joined.code, 0) << joined.err;
  EXPECT_NE(joined.out.find("has no row for the keys of 8 examples"), std::string::npos)
      << joined.out;
  for (const std::string join : {"towns.csv", "towns.csv:", ":user", "towns.csv:age", "s.toml:x"}) {
    EXPECT_EQ(csv({"--join", join, "a.csv", "b.ldp"}).code, 2) << join;
  }
  EXPECT_EQ(csv({"--join", "none.csv:user", "a.csv", "b.ldp"}).code, 4);
  place_.write("log.csv", "user,age,y\n" + some_lines(100));
  ASSERT_EQ(
      place_.run({"convert", "csv", "--guess", "--join", "towns.csv:user", "log.csv", "g.toml"})
          .code,
      0);
  EXPECT_NE(contents(place_ / "g.toml").find("name = \"town\""), std::string::npos);
}

TEST_F(Convert, IsQuietIfAsked) {
  place_.write("a.csv", some_lines(100) + "bad\n");
  for (const Words& words : {Words{"convert", "csv", "--schema", "s.toml", "--max-bad-lines", "1",
                                   "--min-count", "2", "a.csv", "a.ldp"},
                             Words{"convert", "csv", "--guess", "a.csv", "g.toml"},
                             Words{"generate", "--rows", "50,70", "--bottom", "13-8-16",
                                   "--synthetic", "uniform", "--examples", "50", "b.ldp"}}) {
    const Ran ran = place_.run(words + Words{"--quiet"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.out + ran.err, "");
  }
  const Ran refused = csv({"--quiet", "a.csv", "c.ldp"});
  EXPECT_NE(refused.err.find("a.csv:101:4: "), std::string::npos) << "but not if it fails";
}

// Tests of programs that were built with Arrow are in Python, which has a writer of Parquet.
TEST_F(Convert, SaysWhatParquetNeeds) {
  place_.write("a.parquet", "PAR1");
  const Ran ran = place_.run({"convert", "parquet", "--schema", "s.toml", "a.parquet", "a.ldp"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("'a.parquet'"), std::string::npos) << ran.err;
  EXPECT_FALSE(std::filesystem::exists(place_ / "a.ldp"));
}

TEST(HelpOfSeveralVerbs, ListsThem) {
  const Workplace place;
  for (const auto& [word, verb] :
       {std::pair("convert", "lazydp convert jsonl "),
        std::pair("privacy", "lazydp privacy noise "), std::pair("bench", "lazydp bench steps ")}) {
    for (const Words& words : {Words{word, "--help"}, Words{word, "-h"}, Words{"help", word}}) {
      const Ran ran = place.run(words);
      EXPECT_EQ(ran.code, 0) << ran.err;
      EXPECT_NE(ran.out.find(verb), std::string::npos) << ran.out;
      EXPECT_EQ(ran.out.find("lazydp train"), std::string::npos);
    }
    EXPECT_EQ(place.run({word}).code, 2);
  }
  EXPECT_EQ(place.run({"conver", "--help"}).code, 2);
}

TEST(ConvertCriteo, TakesRowsAndASalt) {
  const Workplace place;
  std::string line = "1";
  for (int i = 0; i < 13; ++i) line += "\t" + std::to_string(i);
  for (int i = 0; i < 26; ++i) line += "\t0000000" + std::to_string(i % 10);
  place.write("a.tsv", line + "\n");
  ASSERT_EQ(
      place.run({"convert", "criteo", "--rows", "25x1000,50", "--salt", "3", "a.tsv", "a.ldp"})
          .code,
      0);
  const auto schema = place.json({"inspect", "a.ldp"})["schema"];
  EXPECT_EQ(schema["salt"], "3");
  EXPECT_EQ(schema["column"][39]["rows"], 50);
  EXPECT_EQ(place.run({"convert", "criteo", "--rows", "5,6", "a.tsv", "a.ldp"}).code, 2);
}

TEST(Generate, WritesEverySyntheticTask) {
  const Workplace place;
  const auto click = place.json({"generate", "click.ldp"});
  EXPECT_EQ(click["examples"], 250'000);
  const auto timing = place.json({"generate", "--model", "rmc1", "--rows", "10x750", "--synthetic",
                                  "zipf:1.05", "--examples", "300", "t.ldp"});
  EXPECT_EQ(timing["examples"], 300);
  const auto inside = place.json({"inspect", "t.ldp", "--verify"});
  EXPECT_EQ(inside["schema"]["column"].size(), 24u);
  EXPECT_EQ(inside["schema"]["column"][14]["role"], "multi");
  EXPECT_EQ(inside["schema"]["column"][14]["rows"], 750);
  EXPECT_EQ(place.run({"generate", "--examples", "5", "c.ldp"}).code, 2);
}

}  // namespace
}  // namespace lazydp::cli
