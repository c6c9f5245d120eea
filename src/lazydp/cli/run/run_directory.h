#pragma once
// The folder of one run: its flags, its measurements, its secret state, and its model.

#include <optional>
#include <string>
#include <vector>

#include "lazydp/base/io/folder.h"
#include "lazydp/checkpoint/sealed_file.h"
#include "lazydp/cli/flags.h"
#include "lazydp/cli/options/run_options.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

//   config.toml          the flags of the run
//   metrics.jsonl        its measurements during training
//   tensorboard/         the measurements for TensorBoard
//   report.html          a run at a glance, once it is finished
//   report.json          the same for machines
//   checkpoint/          its state: holds the key and rows that wait for noise
//   model/               the part that may be published, once released
//
// All but model/ is secret: only its owner can read the folder. One process uses it at a time.
class RunDirectory {
 public:
  // Makes the folder for a new run, or takes one that a run with the same flags began and did not
  // finish. Throws UserError for a folder that holds anything else or that another process is
  // using.
  static RunDirectory for_run(const std::string& path, const FlagTexts& given);

  // Opens the folder of a run that was begun.
  static RunDirectory existing(const std::string& path);

  // Makes or opens the folder of a trial of a private search. It has no config.toml: no verb goes
  // on with a trial or releases it on its own, which nothing would pay for.
  static RunDirectory for_trial(const std::string& path);

  const std::string& path() const { return path_; }
  std::string metrics() const { return path_ + "/metrics.jsonl"; }
  std::string events() const { return path_ + "/tensorboard"; }
  std::string report() const { return path_ + "/report.html"; }
  std::string record() const { return path_ + "/report.json"; }
  std::string checkpoints() const { return path_ + "/checkpoint"; }
  std::string model() const { return path_ + "/model"; }
  bool released() const;

  // Keeps a model that was released before the run continues, under another name.
  void put_aside_model() const;

  // Returns the flags that the run was given, or continues under.
  FlagTexts config() const;
  void write_config(const FlagTexts& given) const;

 private:
  explicit RunDirectory(const std::string& path);

  std::string path_;
  std::optional<FolderLock> lock_;  // held by the first rank for all ranks
};

// Returns the flags that a run's folder keeps, in the order of the help.
std::vector<Flag> flags_of_runs();

// Returns the flags of the run in a folder. Throws UserError if it is not the folder of a run.
FlagTexts read_run_config(const std::string& folder);

// Returns the flags as TOML, without those that only decide where output goes or how fast a run is.
std::string config_text(const FlagTexts& given);

// Returns the settings that must stay equal for a run to continue: all that decides what it
// computes or claims.
Json settings_of(const RunOptions& options);

// Returns the passphrase of encrypted checkpoints, if the user named a file that holds it.
std::optional<Passphrase> choose_passphrase(const FlagTexts& given);

}  // namespace lazydp::cli
