#include "lazydp/cli/run/persistent_run.h"

#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "lazydp/base/error.h"
#include "lazydp/cli/parse_value.h"
#include "lazydp/random/cell.h"

namespace lazydp::cli {

namespace {

// Parses "500" steps, or a time: 30s, 10m, 2h.
void choose_cadence(const std::string& text, SaveOptions& keeping) {
  constexpr std::array<std::pair<char, double>, 3> kUnits = {
      {{'s', 1.0}, {'m', 60.0}, {'h', 3600.0}}};
  for (const auto& [unit, seconds] : kUnits) {
    if (text.empty() || text.back() != unit) continue;
    const auto count = number(std::string_view(text).substr(0, text.size() - 1));
    if (!count || !(*count > 0.0)) break;
    keeping.every_seconds = *count * seconds;
    return;
  }
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) {
    refuse("checkpoint-every", text, "a number of steps (500) or a time (30s, 10m, 2h)");
  }
  keeping.every_steps = static_cast<Step>(whole_number("checkpoint-every", text, 1, kLastStep));
}

}  // namespace

SaveOptions choose_keeping(const FlagTexts& given) {
  SaveOptions keeping;
  if (given.checkpoint_every) choose_cadence(*given.checkpoint_every, keeping);
  if (given.no_release) keeping.release = !truth("no-release", *given.no_release);
  if (given.private_metrics) {
    constexpr std::array<std::pair<std::string_view, bool>, 2> kOnOff = {
        {{"off", false}, {"on", true}}};
    keeping.metrics_on_card = choice("private-metrics", *given.private_metrics, kOnOff);
  }
  const auto needs_out = [&given](const Text& text, const char* name) {
    if (!text || given.out) return;
    throw UserError(std::string(name) + " is '" + *text + "', but there is no --out folder for it");
  };
  needs_out(given.checkpoint_every, "checkpoint-every");
  needs_out(given.no_release, "no-release");
  needs_out(given.private_metrics, "private-metrics");
  needs_out(given.key_file, "key-file");
  needs_out(given.beside, "beside");
  if (given.beside) keeping.beside = std::make_shared<RunRecord>(read_run_record(*given.beside));
  return keeping;
}

void PersistentRun::open_checkpoint(std::size_t back) {
  if (!folder.empty()) {
    from = folder.open(back);
    return;
  }
  if (directory.released()) {
    throw PrivacyError(directory.path() +
                       " has released a model, and its checkpoint is gone: to train again would "
                       "spend the budget twice; start a run in another folder and count both");
  }
}

std::string PersistentRun::run() const {
  return std::filesystem::absolute(directory.path()).lexically_normal().string();
}

namespace {

// Earlier versions, which did not hash positions, held out the last examples: their number depended
// on the size of the file, and other examples would be held out now.
void require_hashed_positions(const Json& settings) {
  const Json::json_pointer split("/data/split");
  if (!settings.contains(split)) return;
  if (!settings[split].get<std::string>().starts_with("by position, ")) return;
  throw PrivacyError(
      "the run was begun by an earlier version, which held out the last examples of the data; this "
      "one holds out by the hash of an example's position and would train on what was held out; "
      "finish the run with the version that began it, or start another");
}

// Returns the settings with what a unit sends, which is left out where it is one example.
Json in_full(Json settings) {
  const Json::json_pointer sent("/plan/examples_per_unit");
  if (settings.is_object() && settings.contains("plan") && !settings.contains(sent)) {
    settings[sent] = 1;
  }
  return settings;
}

}  // namespace

void require_same_settings(const Json& checkpoint, const Json& now) {
  require_hashed_positions(checkpoint);
  const Json before = in_full(checkpoint).flatten();
  const Json after = in_full(now).flatten();
  std::string differences;
  const auto text = [](const Json& json, const std::string& key) {
    return json.contains(key) ? json[key].dump() : std::string("nothing");
  };
  const auto note = [&](const std::string& key) {
    differences += (differences.empty() ? "" : "; ") + key.substr(key.rfind('/') + 1) + " was " +
                   text(before, key) + " and is " + text(after, key);
  };
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key) || after[key] != value) note(key);
  }
  for (const auto& [key, value] : after.items()) {
    if (!before.contains(key)) note(key);
  }
  if (differences.empty()) return;
  throw PrivacyError("the run's state is of other settings (" + differences +
                     "); go on under new ones with lazydp resume --branch, which settles it first");
}

}  // namespace lazydp::cli
