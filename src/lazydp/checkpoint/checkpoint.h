#pragma once
// Saves and restores all that a run needs to continue exactly where it was. Secret: a checkpoint
// holds the key and unsettled rows.

#include <optional>
#include <string>

#include "lazydp/checkpoint/checkpoint_header.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// Streams a trainer's state to a file that appears whole or not at all, readable by its owner only.
// Settles nothing. With Settled::yes the caller has settled every row: histories are left out, and
// `seed` is the one to continue with. Tables in files stay there: `tables` says where.
//
// With several ranks, each writes the state that it alone has to a file of its own, a part; once
// all parts are written the first rank writes the rest to `path`. All ranks call, and return once
// it is in place.
void write_checkpoint(const std::string& path, Trainer& trainer, const Json& settings,
                      const Passphrase* passphrase, Settled settled, const Seed& seed,
                      const std::optional<StoredTables>& tables = {});

// Returns the path of a rank's part of a checkpoint, beside it. `save` tells one save from another.
std::string part_path(const std::string& path, const std::string& save, int rank);

// Reads in two steps, because the head decides what the rest is read into. Any number of ranks
// reads what any number wrote: each takes its own rows.
class CheckpointReader {
 public:
  CheckpointReader(const std::string& path, const Passphrase* passphrase);

  const CheckpointHead& head() const { return head_; }
  const std::string& path() const { return file_.path(); }

  // Restores weights and histories in the trainer's memory, and the trainer to the writer's step.
  // Tables in files have already been put where they were. Everything is verified; an exception
  // leaves `trainer` unusable, but no file changed.
  void restore(Trainer& trainer);

 private:
  // Returns why a run that protects this unit may claim nothing for these steps; empty if it may.
  std::string no_claim_for(const std::string& unit) const;
  void restore_rows(const TrainingState& state);

  const Passphrase* passphrase_;
  SealedReader file_;
  CheckpointHead head_;
};

}  // namespace lazydp
