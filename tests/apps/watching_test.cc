// What a run leaves for people to watch: metrics.jsonl, TensorBoard's events, report.html.

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "lazydp/apps/event_file.h"
#include "tests/apps/program.h"

namespace lazydp::apps {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::vector<nlohmann::json> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

// RFC 3720, B.4.
TEST(Crc32c, IsTheStandardOne) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (int i = 0; i < 32; ++i) rising += static_cast<char>(i);
  EXPECT_EQ(crc32c(rising), 0x46dd794eu);
}

class WatchedRun : public testing::Test {
 protected:
  WatchedRun() {
    ran_ = place_.run({"train", "--steps", "20", "--batch", "1024", "--out", "run", "--eval-every",
                       "5", "--eval-examples", "2000"});
  }
  Workplace place_;
  Ran ran_;
};

TEST_F(WatchedRun, HasStepsEvaluationsAndEpsilonsInItsLog) {
  ASSERT_EQ(ran_.code, 0) << ran_.err;
  int steps = 0;
  std::vector<int> evaluated, priced;
  double epsilon = 0.0;
  for (const auto& line : lines_of(contents(place_ / "run/metrics.jsonl"))) {
    if (line.contains("loss")) {
      ++steps;
      EXPECT_EQ(line["step"], steps);
      for (const char* key : {"loss", "examples", "step_ms", "examples_per_second"}) {
        EXPECT_TRUE(line[key].is_number()) << key;
      }
    }
    if (line.contains("auc")) {
      evaluated.push_back(line["step"]);
      for (const char* key : {"auc", "logloss", "normalised_entropy", "calibration"}) {
        EXPECT_TRUE(line[key].is_number()) << key;
      }
      EXPECT_EQ(line["evaluated_on"], "test");
      EXPECT_EQ(line["evaluated_examples"], line["step"] == 20 ? 50'000 : 2000);
    }
    if (line.contains("epsilon") && line.contains("loss")) {
      priced.push_back(line["step"]);
      EXPECT_GT(line["epsilon"], epsilon);
      epsilon = line["epsilon"];
    }
  }
  EXPECT_EQ(steps, 20);
  EXPECT_EQ(evaluated, (std::vector<int>{5, 10, 15, 20}));
  EXPECT_EQ(priced, (std::vector<int>{2, 4, 6, 8, 10, 12, 14, 16, 18, 20}));
}

TEST_F(WatchedRun, TellsAucAndEpsilonWhileItTrains) {
  EXPECT_NE(ran_.err.find("step 5: held-out AUC 0."), std::string::npos) << ran_.err;
  EXPECT_NE(ran_.err.find("normalised entropy"), std::string::npos);
  const auto line = ran_.err.substr(ran_.err.find("step 18/20"));
  for (const char* text : {"left", "loss 0.", "AUC 0.", "if released now", "examples/s"}) {
    EXPECT_NE(line.substr(0, line.find('\n')).find(text), std::string::npos) << text;
  }
}

// Of the format: every record's length and bytes have the checksum that stands behind them.
TEST_F(WatchedRun, LeavesEventFilesWhoseChecksumsHold) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(place_ / "run/tensorboard")) {
    files.push_back(entry.path());
  }
  ASSERT_EQ(files.size(), 1u);
  EXPECT_NE(files[0].find("events.out.tfevents."), std::string::npos);
  const std::string bytes = contents(files[0]);
  const auto masked = [](std::string_view text) {
    const std::uint32_t crc = crc32c(text);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  };
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, 4);
    return value;
  };
  int records = 0;
  for (std::size_t at = 0; at < bytes.size(); ++records) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, 8);
    ASSERT_EQ(word(at + 8), masked(std::string_view(bytes).substr(at, 8)));
    ASSERT_LE(at + 16 + length, bytes.size());
    ASSERT_EQ(word(at + 12 + length), masked(std::string_view(bytes).substr(at + 12, length)));
    at += 16 + length;
  }
  EXPECT_EQ(records, 2 + 20 + 4);  // a version, a start, steps, evaluations
}

TEST_F(WatchedRun, EndsWithAPageThatStandsAlone) {
  const std::string page = contents(place_ / "run/report.html");
  for (const char* text : {"Secret", "ε = ", "Loss", "AUC", "ε if released then",
                           "Where a step goes", "calibration", "<svg", "best possible"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  for (const char* outside : {"href=", "src=", "url(", "<script", "<link", "@import"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  EXPECT_EQ(fs::status(place_ / "run/report.html").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

// What a session after the checkpoint had logged is not there twice.
TEST(WatchedRuns, GoOnWithTheirLog) {
  const Workplace place;
  const Words begin = {"train", "--steps", "8",   "--batch",      "512",    "--seed",
                       "1",     "--out",   "run", "--no-release", "--quiet"};
  ASSERT_EQ(place.run(begin).code, 0);
  const std::string first = contents(place / "run/metrics.jsonl");
  const Ran more = place.run({"resume", "run", "--steps", "12", "--branch", "--quiet"});
  ASSERT_EQ(more.code, 0) << more.err;
  const auto lines = lines_of(contents(place / "run/metrics.jsonl"));
  std::vector<int> steps;
  for (const auto& line : lines) {
    if (line.contains("loss")) steps.push_back(line["step"]);
  }
  EXPECT_EQ(steps, (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  int files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(place / "run/tensorboard")) {
    ++files;
  }
  EXPECT_EQ(files, 2);
}

TEST(DenseOptimizerFlag, IsTakenByTheRunAndItsCard) {
  const Workplace place;
  const auto run = [&](const char* rule) {
    return place.json({"train", "--steps", "8", "--batch", "2048", "--seed", "3",
                       "--dense-optimizer", rule, "--out", std::string("run-") + rule});
  };
  const auto sgd = run("sgd");
  for (const char* rule : {"momentum", "adam", "adagrad"}) {
    const auto json = run(rule);
    ASSERT_EQ(place.last().code, 0) << place.last().err;
    EXPECT_EQ(json["dense_optimizer"], rule);
    EXPECT_NE(json["loss"], sgd["loss"]) << rule;
    const auto card =
        nlohmann::json::parse(contents(place / (std::string("run-") + rule + "/model/card.json")));
    EXPECT_EQ(card["plan"]["dense_optimizer"], rule);
  }
}

}  // namespace
}  // namespace lazydp::apps
