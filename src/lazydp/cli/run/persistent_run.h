#pragma once
// A run that leaves something behind: its folder, its checkpoints, and where it starts.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lazydp/base/types.h"
#include "lazydp/checkpoint/checkpoint_folder.h"
#include "lazydp/cli/flags.h"
#include "lazydp/cli/run/metrics_log.h"
#include "lazydp/cli/run/run_directory.h"

namespace lazydp::cli {

// What a run leaves behind, and how often it saves itself on the way.

struct SaveOptions {
  Step every_steps = 0;  // 0: no
  double every_seconds = 0.0;
  bool release = true;  // at the end
  bool metrics_on_card = false;
};

// Throws UserError.
SaveOptions choose_keeping(const FlagTexts& given);

// Says when the next checkpoint is due.
class CheckpointClock {
 public:
  explicit CheckpointClock(const SaveOptions& keeping) : keeping_(keeping) {}

  bool due(Step t) {
    const auto now = std::chrono::steady_clock::now();
    const bool by_steps = keeping_.every_steps > 0 && t % keeping_.every_steps == 0;
    const bool by_time =
        keeping_.every_seconds > 0.0 &&
        std::chrono::duration<double>(now - last_).count() >= keeping_.every_seconds;
    if (by_time) last_ = now;
    return by_steps || by_time;
  }

 private:
  SaveOptions keeping_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

struct PersistentRun {
  PersistentRun(RunDirectory run, const SaveOptions& how, const RunOptions& options,
                std::optional<Passphrase> passphrase)
      : directory(std::move(run)),
        keeping(how),
        folder(directory.checkpoints(), settings_of(options), std::move(passphrase)) {}

  // The newest checkpoint, or the one before; none if the run never came to one. Throws
  // PrivacyError if one must have been there.
  void open_checkpoint(std::size_t back = 0);

  // By what the run's tables know whose they are.
  std::string run() const;

  RunDirectory directory;
  SaveOptions keeping;
  CheckpointFolder folder;
  std::unique_ptr<CheckpointReader> from;  // where to go on; null: at the beginning
  std::function<void()> goes_on;  // once that was read and found whole, before the first step
};

// Refuses with PrivacyError to go on from a checkpoint under settings that are not its own, with
// every difference.
void require_same_settings(const Json& checkpoint, const Json& now);

}  // namespace lazydp::cli
