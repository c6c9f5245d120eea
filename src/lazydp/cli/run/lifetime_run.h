#pragma once
// A run that spends from the ledger of a lifetime: what it plans is reserved before its first step,
// and what it spent is counted before its model is written.

#include <optional>
#include <string>

#include "lazydp/cli/flags.h"
#include "lazydp/cli/run/run_directory.h"
#include "lazydp/privacy/lifetime_ledger.h"
#include "lazydp/train/trainer.h"

namespace lazydp::cli {

// Returns the flags with --ledger as a path from the root: a run may go on from another folder.
// Throws UserError for flags of a ledger that do not go together.
FlagTexts with_ledger_in_full(FlagTexts given);

class LifetimeRun {
 public:
  // Returns the run's entry in the ledger that --ledger names; nothing if none is. The entry has a
  // random name, which is kept in the run's folder.
  static std::optional<LifetimeRun> of(const FlagTexts& given, const RunDirectory& directory);

  // Reserves all that the trainer will have spent after its last step. Throws PrivacyError if the
  // ledger does not allow that, if it protects others than the run does, or if nothing may be
  // claimed for the run. Only the first rank writes.
  void reserve(const Trainer& trainer) const;

  // Counts what a model has spent that is about to be written.
  void publish(const Ledger& spent) const;

 private:
  LifetimeRun(std::string file, std::string run, std::string data, std::string unit)
      : file_(std::move(file)),
        run_(std::move(run)),
        data_(std::move(data)),
        unit_(std::move(unit)) {}

  LifetimeFile file_;
  std::string run_;
  std::string data_;
  std::string unit_;
};

}  // namespace lazydp::cli
