#pragma once
// A run with a folder: its checkpoints, its released model, and where it starts.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lazydp/base/stages.h"
#include "lazydp/base/types.h"
#include "lazydp/checkpoint/checkpoint_folder.h"
#include "lazydp/cli/flags.h"
#include "lazydp/cli/run/lifetime_run.h"
#include "lazydp/cli/run/metrics_log.h"
#include "lazydp/cli/run/run_directory.h"
#include "lazydp/cli/run/run_record.h"
#include "lazydp/random/seed.h"
#include "lazydp/train/trainer.h"

namespace lazydp::cli {

// How often a run saves itself, and what it leaves at the end.
struct SaveOptions {
  Step every_steps = 0;  // 0: never
  double every_seconds = 0.0;
  bool release = true;  // at the end
  bool metrics_on_card = false;
  std::shared_ptr<const RunRecord> beside = nullptr;  // what its page compares it with
};

// Throws UserError for a cadence that it cannot parse and flags that do not go together.
SaveOptions choose_keeping(const FlagTexts& given);

// Says when the next checkpoint is due.
class CheckpointClock {
 public:
  explicit CheckpointClock(const SaveOptions& keeping) : keeping_(keeping) {}

  bool due(Step t) {
    const bool by_steps = keeping_.every_steps > 0 && t % keeping_.every_steps == 0;
    const bool by_time =
        keeping_.every_seconds > 0.0 && since_last_.seconds() >= keeping_.every_seconds;
    if (by_time) since_last_.lap();
    return by_steps || by_time;
  }

 private:
  SaveOptions keeping_;
  Stopwatch since_last_;
};

// A run that is a trial of a private search: it is not released on its own.
struct Trial {
  Seed seed;  // with which it begins: a trial that begins again repeats itself
  std::function<void(Trainer& trainer)> score;  // called once it is trained, before it is saved
};

struct PersistentRun {
  PersistentRun(RunDirectory run, const SaveOptions& how, const RunOptions& options,
                std::optional<Passphrase> passphrase)
      : directory(std::move(run)),
        keeping(how),
        folder(directory.checkpoints(), settings_of(options), std::move(passphrase)) {}

  // Opens the newest checkpoint, or with `back` = 1 the one before; none if the run never saved
  // one. Throws PrivacyError if there must have been one.
  void open_checkpoint(std::size_t back = 0);

  // Returns the name by which the run's table files know the run that owns them.
  std::string run() const;

  RunDirectory directory;
  SaveOptions keeping;
  CheckpointFolder folder;
  std::unique_ptr<CheckpointReader> from;  // where to continue; null: at the beginning
  // Called once the checkpoint was read and found whole, before the first step.
  std::function<void()> goes_on;
  std::optional<Trial> trial = {};
  std::optional<LifetimeRun> lifetime = {};  // the ledger that it spends from, on the first rank
};

// Throws PrivacyError, with every difference, for settings that are not those of the checkpoint.
void require_same_settings(const Json& checkpoint, const Json& now);

}  // namespace lazydp::cli
