#include "lazydp/cli/run/run_record.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <ctime>
#include <filesystem>
#include <string_view>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/io/folder.h"
#include "lazydp/base/version.h"
#include "lazydp/cli/process.h"
#include "lazydp/cli/run/metrics_log.h"
#include "lazydp/cli/run/run_directory.h"

namespace lazydp::cli {
namespace {

constexpr const char* kRecord = "/report.json";

// Returns a word as a shell would take it.
std::string quoted(const std::string& word) {
  constexpr std::string_view kPlain = "-_./,:=+@%";
  const bool plain = !word.empty() && std::ranges::all_of(word, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != kPlain.npos;
  });
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts)};
}

// Returns what the log of an unfinished run tells: its newest values.
Json newest_of(const std::vector<Json>& log) {
  Json numbers = Json::object();
  for (const Json& line : log) {
    for (const auto& [key, value] : line.items()) numbers[key == "step" ? "steps" : key] = value;
  }
  return numbers;
}

Json read_record(const std::string& path) {
  const Json numbers = Json::parse(read_text(path), nullptr, false);
  if (!numbers.is_object()) throw IoError(path + " is damaged: it is no JSON object");
  return numbers;
}

}  // namespace

Provenance Provenance::of_this_process() {
  std::string command = "lazydp";
  for (const std::string& word : command_words()) command += " " + quoted(word);
  return {.command = command, .finished = utc_now(), .program = std::string("lazydp ") + version()};
}

void write_record(const std::string& path, const Finished& run, const Provenance& from) {
  Json record = {{"program", from.program}, {"finished", from.finished}, {"command", from.command}};
  record.update(json_of(run.options, run.result));
  write_text(path, record.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", kOwnerFile);
}

double RunRecord::number(const char* name) const {
  const auto value = numbers.find(name);
  return value != numbers.end() && value->is_number() ? value->get<double>() : Metrics::kNone;
}

std::string RunRecord::name() const {
  const auto path = std::filesystem::absolute(folder).lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

bool judged_alike(const Json& a, const Json& b) {
  constexpr std::array kKeys = {"data", "synthetic", "split", "held_out_examples",
                                "positive_weight"};
  const auto value = [](const Json& json, const char* key) {
    return json.contains(key) ? json.at(key) : Json();
  };
  return std::ranges::all_of(kKeys,
                             [&](const char* key) { return value(a, key) == value(b, key); });
}

RunRecord read_run_record(const std::string& folder) {
  RunRecord run{.folder = folder, .settings = {}, .numbers = {}, .log = {}};
  const FlagTexts given = read_run_config(folder);
  for (const Flag& flag : flags_of_runs()) {
    if (given.*flag.value) run.settings.emplace_back(flag.name, *(given.*flag.value));
  }
  if (exists(folder + "/metrics.jsonl")) run.log = read_metrics_log(folder + "/metrics.jsonl");
  run.numbers = newest_of(run.log);
  if (!exists(folder + kRecord)) return run;
  const double logged = run.number("steps");
  RunRecord done = run;
  done.numbers = read_record(folder + kRecord);
  done.finished = !(logged > done.number("steps"));  // or it goes on by now
  return done.finished ? done : run;
  return run;
}

}  // namespace lazydp::cli
