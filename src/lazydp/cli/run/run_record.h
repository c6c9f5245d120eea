#pragma once
// The record that a finished run leaves of itself in its folder, and what can be read of any run.

#include <string>
#include <utility>
#include <vector>

#include "lazydp/cli/flags.h"
#include "lazydp/cli/run/report.h"

namespace lazydp::cli {

// Where a record comes from.
struct Provenance {
  std::string command;   // as the user typed it
  std::string finished;  // 2026-01-31 12:30 UTC
  std::string program;   // with its version

  static Provenance of_this_process();
};

// Writes report.json, the numbers that --json prints and where they come from. Secret.
void write_record(const std::string& path, const Finished& run, const Provenance& from);

// A run as its folder tells of it, finished or not.
struct RunRecord {
  std::string folder;
  std::vector<std::pair<std::string, std::string>> settings;  // flags of config.toml, in order
  Json numbers;           // of report.json; what its log tells of, if it is not finished
  std::vector<Json> log;  // metrics.jsonl
  bool finished = false;

  // Returns the number of that name; NaN if the run has none.
  double number(const char* name) const;

  // Returns the name of the folder without those above it.
  std::string name() const;
};

// Returns whether two runs, as report.json has them, were judged on the same held-out examples, and
// in the same way.
bool judged_alike(const Json& a, const Json& b);

// Reads a run's folder without locking it: the run may be under way. Throws UserError if it is not
// the folder of a run, IoError for a record that is damaged.
RunRecord read_run_record(const std::string& folder);

}  // namespace lazydp::cli
