// lazydp bench paper, run whole at its smallest: the shape of its files, and numbers that do not
// depend on the machine.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;
using Row = std::map<std::string, std::string>;

// A reader of its own, quotes and all.
std::vector<Row> read_csv(const fs::path& path) {
  std::vector<std::vector<std::string>> lines(1, {""});
  bool quoted = false;
  for (const char c : contents(path)) {
    if (c == '"') {
      quoted = !quoted;  // a doubled quote ends and begins: the sheets have none
    } else if (c == ',' && !quoted) {
      lines.back().emplace_back();
    } else if (c == '\n' && !quoted) {
      lines.push_back({""});
    } else {
      lines.back().back() += c;
    }
  }
  lines.pop_back();
  std::vector<Row> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].size(), lines[0].size()) << path << " line " << i + 1;
    Row row;
    for (std::size_t c = 0; c < std::min(lines[i].size(), lines[0].size()); ++c) {
      row[lines[0][c]] = lines[i][c];
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

double number(const Row& row, const std::string& column) {
  return std::stod(row.at(column));
}

// All experiments, as small as they can be; run once for all tests.
struct SmokeRun {
  Workplace place;
  nlohmann::json json =
      place.json({"bench", "paper", "--smoke", "--out", "found", "--threads", "2"});
};

const SmokeRun& smoke_run() {
  static const SmokeRun run;
  return run;
}

class Paper : public testing::Test {
 protected:
  void SetUp() override {
    const Ran& ran = smoke_run().place.last();
    ASSERT_EQ(ran.code, 0) << ran.err;
  }

  fs::path file(const std::string& name) const { return smoke_run().place / "found" / name; }
  std::vector<Row> sheet(const std::string& experiment) const {
    return read_csv(file(experiment + ".csv"));
  }
  // The one row with these values.
  Row the(const std::string& experiment, const Row& like) const {
    std::vector<Row> found;
    for (const Row& row : sheet(experiment)) {
      const bool fits = std::ranges::all_of(like, [&](const auto& cell) {
        const auto here = row.find(cell.first);
        return here != row.end() && here->second == cell.second;
      });
      if (fits) found.push_back(row);
    }
    EXPECT_EQ(found.size(), 1u) << experiment;
    return found.empty() ? Row{} : found.front();
  }
};

const std::set<std::string> kNames = {
    "time-breakdown", "table-accesses", "update-breakdown", "vector-throughput",
    "reductions",     "end-to-end",     "lazydp-breakdown", "energy",
    "overhead",       "table-size",     "pooling",          "models",
    "skew",           "eana",           "equivalence"};

TEST_F(Paper, WritesNumbersAPictureAndAComparisonForEachExperiment) {
  std::set<std::string> names;
  const std::string index = contents(file("index.html"));
  for (const auto& experiment : smoke_run().json["experiments"]) {
    const std::string name = experiment["name"];
    names.insert(name);
    const std::set<std::string> standings = {"measured", "counted", "extrapolated", "out of memory",
                                             "not measured"};
    const std::vector<Row> rows = sheet(name);
    EXPECT_FALSE(rows.empty()) << name;
    for (const Row& row : rows) EXPECT_TRUE(standings.contains(row.at("standing"))) << name;

    EXPECT_FALSE(experiment["comparisons"].empty()) << name;
    for (const auto& comparison : experiment["comparisons"]) {
      for (const char* part : {"what", "paper", "here", "because"}) {
        const std::string text = comparison[part];
        EXPECT_FALSE(text.empty()) << name << ", " << part;
        EXPECT_EQ(text.find("nan"), std::string::npos) << name << ": " << text;
        EXPECT_EQ(text.find("inf"), std::string::npos) << name << ": " << text;
      }
    }
    const std::string svg = contents(file(name + ".svg"));
    EXPECT_TRUE(svg.starts_with("<svg ")) << name;
    EXPECT_TRUE(svg.ends_with("</svg>\n")) << name;
    EXPECT_EQ(svg.find("nan"), std::string::npos) << name;
    EXPECT_NE(index.find(svg), std::string::npos) << name << " is in the index";
  }
  EXPECT_EQ(names, kNames);
}

TEST_F(Paper, TheIndexNeedsNothingButItself) {
  const std::string index = contents(file("index.html"));
  for (const char* outside : {"src=", "href=", "<script", "@import", "url("}) {
    EXPECT_EQ(index.find(outside), std::string::npos) << outside;
  }
  EXPECT_NE(index.find("smoke run"), std::string::npos) << "its times mean nothing, and it says so";
}

TEST_F(Paper, StagesAddUpToSteps) {
  for (const Row& row : sheet("time-breakdown")) {
    const double sum = number(row, "forward_ms") + number(row, "per_example_ms") +
                       number(row, "per_batch_ms") + number(row, "update_ms");
    EXPECT_NEAR(sum, number(row, "step_ms"), 1e-4 * sum);
    EXPECT_EQ(number(row, "per_example_ms") > 0.0, row.at("algorithm") != "sgd");
  }
}

// Rows of `mlperf` at the smoke run's size, by the rule of the paper's own table of sizes.
TEST_F(Paper, CountsWhatAStepTouches) {
  const Row eager = the("table-accesses", {{"algorithm", "dpsgd-f"}});
  const Row sgd = the("table-accesses", {{"algorithm", "sgd"}});
  const Row lazy = the("table-accesses", {{"algorithm", "lazydp"}});
  const double rows = number(eager, "table_bytes") / (128 * 4);
  const double lookups = 26 * number(sgd, "batch");
  EXPECT_EQ(number(sgd, "rows_written"), lookups);
  EXPECT_EQ(number(sgd, "rows_read"), 2 * lookups) << "to pool it, and to add to it";
  EXPECT_EQ(number(eager, "rows_written"), lookups + rows);
  EXPECT_GT(number(lazy, "rows_written"), lookups);
  EXPECT_LE(number(lazy, "rows_written"), 2 * lookups) << "each named row is settled once";
}

TEST_F(Paper, ExtrapolatesEagerNoiseInProportionAndSaysSo) {
  const auto update = [&](const std::string& standing) {
    std::vector<Row> rows;
    for (const Row& row : sheet("update-breakdown")) {
      if (row.at("standing") == standing) rows.push_back(row);
    }
    return rows;
  };
  const Row largest = update("measured").back();
  const Row there = update("extrapolated").back();
  const double grow = number(there, "table_bytes") / number(largest, "table_bytes");
  EXPECT_GT(grow, 1000.0);
  EXPECT_NEAR(number(there, "noise_sampling_ms") / number(largest, "noise_sampling_ms"), grow,
              1e-4 * grow);
  EXPECT_DOUBLE_EQ(number(there, "other_ms"), number(largest, "other_ms"));
  EXPECT_GT(number(there, "share_of_step"), number(largest, "share_of_step"));
}

TEST_F(Paper, KeepsTablesThatAreTooLargeInFiles) {
  std::size_t from_files = 0;
  for (const Row& row : sheet("table-size")) {
    const bool large = number(row, "table_bytes") > 5e6 && row.at("standing") != "extrapolated";
    EXPECT_EQ(row.at("tables_in"), large && row.at("algorithm") != "dpsgd-f" ? "files" : "memory");
    if (!large) continue;
    if (row.at("algorithm") == "dpsgd-f") {
      EXPECT_EQ(row.at("step_ms"), "") << "it writes every row at every step";
      EXPECT_NE(row.at("standing"), "measured");
    } else {
      EXPECT_EQ(row.at("standing"), "measured");
      EXPECT_GT(number(row, "step_ms"), 0.0);
      ++from_files;
    }
  }
  EXPECT_EQ(from_files, 2 * 4) << "SGD and LazyDP, at four sizes";
  EXPECT_FALSE(fs::exists(file("tables"))) << "nothing of them is left";
}

TEST_F(Paper, KnowsWhatLazyDPKeepsInMemory) {
  EXPECT_EQ(number(the("overhead", {{"model", "mlperf"}}), "history_bytes"), 751'070'000)
      << "187,767,399 rows x 4, to six digits";
  EXPECT_NEAR(number(the("overhead", {{"model", "rmc1"}}), "history_share"), 4.0 / 128, 1e-9);
  const Row kaggle = the("overhead", {{"model", "kaggle"}});
  EXPECT_EQ(number(kaggle, "queue_bytes"), 26 * (16 * 8 + 17 * 8)) << "ids and offsets at batch 16";
}

TEST_F(Paper, FindsWhatEanaLeaksAndLazyDPDoesNot) {
  const Row eana = the("eana", {{"what", "rows never noised"}, {"algorithm", "eana"}});
  const Row lazy = the("eana", {{"what", "rows never noised"}, {"algorithm", "lazydp"}});
  EXPECT_GT(number(eana, "value"), 100.0);
  EXPECT_EQ(number(lazy, "value"), 0.0);
  const Row broken = the("eana", {{"what", "epsilon proven by attack"}, {"algorithm", "eana"}});
  const Row stands = the("eana", {{"what", "epsilon proven by attack"}, {"algorithm", "lazydp"}});
  EXPECT_GT(number(broken, "value"), number(broken, "beside"));
  EXPECT_LE(number(stands, "value"), number(stands, "beside"));
}

// The seed is fixed, so a test that passes once passes always.
TEST_F(Paper, FindsThatLateNoiseIsTheSameNoise) {
  const Row late = the("equivalence", {{"algorithm", "lazydp-no-ans"}});
  EXPECT_LT(number(late, "value"), 1e-5);
  const std::string what = late.at("what");
  EXPECT_GT(number(the("equivalence", {{"what", what}, {"algorithm", "lazydp"}}), "value"), 1e-4)
      << "other noise is seen";
  int tests = 0;
  for (const Row& row : sheet("equivalence")) {
    if (row.at("probability").empty()) continue;
    EXPECT_GT(number(row, "probability"), 1e-4) << row.at("what") << " of " << row.at("algorithm");
    ++tests;
  }
  EXPECT_EQ(tests, 4);
}

TEST(PaperOptions, TakesSomeExperimentsAlone) {
  const Workplace place;
  const auto json = place.json({"bench", "paper", "overhead", "equivalence", "overhead", "--smoke",
                                "--out", "found", "--threads", "1", "--seed", "3"});
  ASSERT_EQ(place.last().code, 0) << place.last().err;
  ASSERT_EQ(json["experiments"].size(), 2u);
  EXPECT_EQ(json["experiments"][0]["name"], "overhead");
  EXPECT_TRUE(fs::exists(place / "found" / "equivalence.csv"));
  EXPECT_FALSE(fs::exists(place / "found" / "pooling.csv"));
}

TEST(PaperOptions, RefusesInOneLineAndLeavesNothing) {
  const std::vector<std::vector<std::string>> mistakes = {
      {"speedup", "--out", "found"},
      {"end-to-ned", "--out", "found"},
      {"--smoke"},
      {"--smoke", "--quick", "--out", "found"},
      {"--max-table-gb", "0", "--out", "found"},
      {"--max-table-gb", "nan", "--out", "found"},
      {"--max-table-gb", "1e9", "--out", "found"},
      {"--seed", "-1", "--out", "found"},
  };
  for (std::vector<std::string> words : mistakes) {
    words.insert(words.begin(), {"bench", "paper"});
    const Workplace place;
    const Ran ran = place.run(words);
    EXPECT_EQ(ran.code, 2) << words[2] << ": " << ran.err;
    EXPECT_EQ(ran.error_lines(), 1u) << ran.err;
    EXPECT_TRUE(place.files().empty()) << words[2];
  }
}

TEST(PaperOptions, SaysWhatWasMeant) {
  const Ran ran = Workplace().run({"bench", "paper", "end-to-ned", "--out", "found"});
  EXPECT_NE(ran.err.find("did you mean end-to-end?"), std::string::npos) << ran.err;
}

TEST(PaperOptions, CannotWriteIntoAFile) {
  const Workplace place;
  place.write("found", "mine");
  const Ran ran = place.run({"bench", "paper", "overhead", "--smoke", "--out", "found"});
  EXPECT_EQ(ran.code, 4) << ran.err;
  EXPECT_EQ(contents(place / "found"), "mine");
}

}  // namespace
}  // namespace lazydp::cli
