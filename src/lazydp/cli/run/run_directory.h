#pragma once
// The folder of one run: what it was told, what it measured, its secret state, and its model.

#include <optional>
#include <string>

#include "lazydp/base/io/folder_lock.h"
#include "lazydp/checkpoint/sealed_file.h"
#include "lazydp/cli/flags.h"
#include "lazydp/cli/run/run_options.h"
#include "lazydp/train/plan_json.h"

namespace lazydp::cli {

//   config.toml          the flags of the run
//   metrics.jsonl        what it measured on the way
//   tensorboard/         the same for TensorBoard
//   report.html          a run at a glance, once it is finished
//   checkpoint/          its state: holds the key and rows that wait for noise
//   model/               what may be published, once released
//
// All but model/ is secret: the folder is its owner's alone. One process uses it at a time.
class RunDirectory {
 public:
  // Makes the folder for a new run, or takes one that `flags` began and did not finish. Throws
  // UserError for a folder that holds anything else or that another process is using.
  static RunDirectory for_run(const std::string& path, const FlagTexts& given);

  // Of a run that was begun.
  static RunDirectory existing(const std::string& path);

  const std::string& path() const { return path_; }
  std::string metrics() const { return path_ + "/metrics.jsonl"; }
  std::string events() const { return path_ + "/tensorboard"; }
  std::string report() const { return path_ + "/report.html"; }
  std::string checkpoints() const { return path_ + "/checkpoint"; }
  std::string model() const { return path_ + "/model"; }
  bool released() const;

  // The flags that the run was given, or goes on under.
  FlagTexts config() const;
  void write_config(const FlagTexts& given) const;

 private:
  explicit RunDirectory(const std::string& path);

  std::string path_;
  std::optional<FolderLock> lock_;  // the first rank's is that of all
};

// The flags as TOML, without those that say only where output goes or how fast to be.
std::string config_text(const FlagTexts& given);

// What must stay equal for a run to go on: everything that decides what it computes or claims.
Json settings_of(const RunOptions& options);

// What opens encrypted checkpoints, if the user named a file that holds it.
std::optional<Passphrase> choose_passphrase(const FlagTexts& given);

}  // namespace lazydp::cli
