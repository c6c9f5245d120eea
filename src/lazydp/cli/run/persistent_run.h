#pragma once
// A run that leaves something behind: its folder, its checkpoints, and where it starts.

#include <functional>
#include <memory>
#include <optional>

#include "lazydp/checkpoint/checkpoint_folder.h"
#include "lazydp/cli/run/metrics_log.h"
#include "lazydp/cli/run/run_directory.h"
#include "lazydp/cli/run/save_options.h"

namespace lazydp::cli {

struct Kept {
  Kept(RunDirectory run, const Keeping& how, const RunOptions& options, std::optional<Lock> lock)
      : directory(std::move(run)),
        keeping(how),
        folder(directory.checkpoints(), settings_of(options), std::move(lock)) {}

  // The newest checkpoint, or the one before; none if the run never came to one. Throws
  // PrivacyError if one must have been there.
  void open_checkpoint(std::size_t back = 0);

  // By what the run's tables know whose they are.
  std::string run() const;

  RunDirectory directory;
  Keeping keeping;
  CheckpointFolder folder;
  std::unique_ptr<CheckpointReader> from;  // where to go on; null: at the beginning
  std::function<void()> goes_on;  // once that was read and found whole, before the first step
};

// Refuses with PrivacyError to go on from a checkpoint under settings that are not its own, with
// every difference.
void require_same_settings(const Json& checkpoint, const Json& now);

}  // namespace lazydp::cli
