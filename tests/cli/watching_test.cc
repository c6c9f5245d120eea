// The files in which a run can be watched: metrics.jsonl, TensorBoard's events, report.html.

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "lazydp/report/tensorboard.h"
#include "tests/cli/program.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;
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

// The format requires it: every record's length and bytes have the checksum that stands behind
// them.
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
  for (const char* text :
       {"Secret", "ε = ", "Loss", "AUC", "ε if released then", "Where a step goes", "calibration",
        "<svg", "best possible", ">constant</text>", "<h1>small on synthetic click", "of 100 cases",
        "<pre>lazydp train --steps 20 --batch 1024 --out run"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  for (const char* outside : {"href=", "src=", "url(", "<script", "<link", "@import"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  EXPECT_EQ(fs::status(place_ / "run/report.html").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

// Lines that a run logged after the checkpoint are not there twice once it continues.
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

// TensorBoard reads files in the order of their names: a model_and_tables after the clock was set
// back must still come last. A file of the year 2065 stands for one that was written before.
TEST(WatchedRuns, GoOnAfterTheClockWasSetBack) {
  const TemporaryFolder folder;
  const std::string before = "events.out.tfevents.3000000000.999999.lazydp";
  const std::string stranger = "events.out.tfevents.99999999999999999999.1.lazydp";
  folder.write(before, "");
  folder.write(stranger, "");
  { EventFile(folder.path(), 1).write(1, {{"train/loss", 0.5}}); }
  EventFile(folder.path(), 2).write(2, {{"train/loss", 0.5}});
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  EXPECT_EQ(names,
            (std::vector<std::string>{before, "events.out.tfevents.3000000001.000000.lazydp",
                                      "events.out.tfevents.3000000001.000001.lazydp", stranger}));
}

#ifdef LAZYDP_BACKWARD_CLOCK
// A clock that goes back by an hour at every look changes neither the model nor when checkpoints
// are due, and nothing that was measured is negative.
TEST(WatchedRuns, DoNotMindAClockThatGoesBackwards) {
  const Workplace place;
  std::string words = "\"$LAZYDP\"";
  for (const std::string& word : tiny({"train", "--quiet", "--steps", "2000", "--seed", "1"},
                                      {"--checkpoint-every", "0.02s", "--json"})) {
    words += " " + word;
  }
  ASSERT_EQ(place.shell(words + " forward.json --out forward").code, 0);
  fs::copy_file(LAZYDP_BACKWARD_CLOCK, place / "clock.so");  // the loader splits at spaces
  const Ran ran = place.shell("LD_PRELOAD=./clock.so " + words + " backward.json --out backward");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(contents(place / "forward/model/model.safetensors"),
            contents(place / "backward/model/model.safetensors"));
  const auto json = nlohmann::json::parse(contents(place / "backward.json"));
  EXPECT_GT(json["checkpoint_ms"].get<double>(), 0.0) << "checkpoints were due";
  EXPECT_GT(json["step_ms"]["min"].get<double>(), 0.0);
  EXPECT_GT(json["steps_per_second"].get<double>(), 0.0);
  double last = 0.0;
  for (const auto& entry : fs::directory_iterator(place / "backward/tensorboard")) {
    const std::string bytes = contents(entry.path());
    for (std::size_t at = 0; at < bytes.size();) {
      std::uint64_t length = 0;
      double time = 0.0;
      std::memcpy(&length, bytes.data() + at, 8);
      std::memcpy(&time, bytes.data() + at + 13, 8);  // after the length, its sum and a key
      EXPECT_GE(time, last);
      last = time;
      at += 16 + length;
    }
  }
  EXPECT_GT(last, 0.0);
}
#endif

TEST(WatchedRuns, RefuseALogWhoseStepsAreNoNumbers) {
  const Workplace place;
  const Words begin = {"train", "--steps", "4",   "--batch",      "64",     "--seed",
                       "1",     "--out",   "run", "--no-release", "--quiet"};
  ASSERT_EQ(place.run(begin).code, 0);
  const auto config = contents(place / "run/config.toml");
  for (const char* line :
       {R"({"step": "x"})", R"({"step": [1]})", R"({"step": -1})", R"({"step": 1e300})",
        R"({"step": 4294967296})", R"({"loss": 1})", "[1]", "7", "this is no log"}) {
    place.write("run/metrics.jsonl", std::string(R"({"step": 1})") + "\n" + line + "\n");
    const Ran ran = place.run({"resume", "run", "--quiet"});
    EXPECT_EQ(ran.code, 4) << line << ran.err;
    EXPECT_EQ(ran.error_lines(), 1u) << ran.err;
    EXPECT_NE(ran.err.find("metrics.jsonl is damaged: line 2"), std::string::npos) << ran.err;
    EXPECT_EQ(contents(place / "run/config.toml"), config);
  }
  place.write("run/metrics.jsonl", std::string(R"({"step": 1})") + "\nhalf a li");
  EXPECT_EQ(place.run({"resume", "run", "--quiet"}).code, 0);
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
}  // namespace lazydp::cli
