// lazydp inspect RUN, lazydp inspect MODEL: describes the folder of a run, or of a released model.

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "lazydp/base/error.h"
#include "lazydp/base/io/atomic_file.h"
#include "lazydp/base/io/folder.h"
#include "lazydp/base/text/number_text.h"
#include "lazydp/cli/output.h"
#include "lazydp/cli/run/metrics_log.h"
#include "lazydp/cli/verbs/verbs.h"
#include "lazydp/release/card.h"

namespace lazydp::cli {
namespace {

namespace fs = std::filesystem;

void row(std::ostream& out, const char* label, const std::string& value) {
  out << "  " << std::left << std::setw(14) << label << value << "\n";
}

void print_model(std::ostream& out, const Json& card) {
  const ModelShape shape = shape_on_card(card);
  const Json& claim = card.at("claim");
  row(out, "model",
      std::to_string(shape.tables()) + " tables of " +
          with_commas(static_cast<double>(shape.total_rows())) + " rows, " +
          std::to_string(shape.dim) + " wide; " + std::to_string(shape.dense_features()) +
          " numbers");
  row(out, "released by", card.value("program", "an earlier version"));
  row(out, "claim", claim.value("statement", ""));
  if (claim.contains("epsilon") && claim.at("epsilon").is_number()) {
    row(out, "",
        "epsilon " + shortest(claim.at("epsilon").get<double>()) + " at delta " +
            shortest(claim.at("delta").get<double>()) + ", for " +
            claim.value("unit", "one example"));
  } else {
    row(out, "because", claim.value("reason", ""));
  }
}

// What can be told of a run without the passphrase of its checkpoints.
struct RunFiles {
  std::string config;                // TOML
  std::vector<std::string> states;   // names of checkpoints, oldest first
  std::optional<Json> last_metrics;  // the newest line of its log that tells of a step
};

// Reads without locking the folder: a run may be under way.
RunFiles files_of_run(const std::string& folder) {
  RunFiles files{.config = read_text(folder + "/config.toml"), .states = {}, .last_metrics = {}};
  std::error_code error;
  for (const fs::path& entry : entries_of(folder + "/checkpoint", error)) {
    const std::string name = entry.filename().string();
    if (name.ends_with(".settled") || name.ends_with(".unsettled")) files.states.push_back(name);
  }
  std::ranges::sort(files.states);
  if (exists(folder + "/metrics.jsonl")) {
    for (Json& line : read_metrics_log(folder + "/metrics.jsonl")) {
      if (line.contains("loss")) files.last_metrics = std::move(line);
    }
  }
  return files;
}

void print_run(std::ostream& out, const RunFiles& files, bool released) {
  out << (released ? ": a run that was released\n" : ": a run that was not released\n");
  for (std::size_t begin = 0; begin < files.config.size();) {
    const std::size_t end = std::min(files.config.find('\n', begin), files.config.size());
    row(out, begin == 0 ? "config.toml" : "", files.config.substr(begin, end - begin));
    begin = end + 1;
  }
  if (files.last_metrics) {
    const Json& last = *files.last_metrics;
    row(out, "last logged",
        "step " + with_commas(last.at("step").get<double>()) +
            (last.contains("epsilon") ? ", epsilon " + shortest(last.at("epsilon").get<double>()) +
                                            " if it were released there"
                                      : ""));
  }
  for (const std::string& state : files.states) {
    row(out, &state == &files.states.front() ? "checkpoint" : "", state);
  }
  if (!released) {
    out << (files.states.empty()
                ? "Nothing was saved of it yet.\n"
                : "lazydp resume goes on with it; lazydp release makes a model of it.\n");
  }
  out << "Secret: everything in this folder but model/.\n";
}

}  // namespace

void inspect_folder(const FlagTexts& given) {
  const std::string& folder = given.operands.front();
  if (given.show || given.verify) {
    throw UserError("--show and --verify are for data files, and '" + folder +
                    "' is a folder; lazydp verify compares a released model with its card");
  }
  const Output output(given);
  std::ostream* out = output.report();
  const bool run = exists(folder + "/config.toml");
  const std::string model = run ? folder + "/model" : folder;
  const bool released = exists(model + kCard);
  if (!run && !released) {
    throw UserError("'" + folder +
                    "' is a folder, but neither that of a run (it has no config.toml) nor that of "
                    "a released model (no card.json)");
  }
  Json json = {{"kind", run ? "run" : "model"}, {"released", released}};
  if (out != nullptr) *out << folder;
  if (run) {
    const RunFiles files = files_of_run(folder);
    if (out != nullptr) print_run(*out, files, released);
    json["config"] = files.config;
    json["checkpoints"] = files.states;
    if (files.last_metrics) json["step"] = files.last_metrics->at("step");
  } else if (out != nullptr) {
    *out << ": a released model\n";
  }
  if (released) {
    const Json card = verified_card(model);
    if (out != nullptr) print_model(*out, card);
    json["claim"] = card.at("claim");
    json["model"] = card.at("model");
  }
  output.write(json);
}

}  // namespace lazydp::cli
