#pragma once
// All that a run needs to go on exactly where it was. Secret: it holds the key and unsettled rows.

#include <optional>
#include <string>

#include "lazydp/checkpoint/checkpoint_header.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// Streams a trainer's state to a file that appears whole or not at all, for its owner only. Nothing
// is settled by it. With Settled::yes every row must have been: histories stay out, and `seed` is
// the one to go on with. Tables in files stay there: `tables` says where.
//
// Of several ranks each writes what it alone has to a file of its own, a part; once all parts are
// there the first rank writes the rest to `path`. All ranks call, and return once it stands.
void write_checkpoint(const std::string& path, Trainer& trainer, const Json& settings,
                      const Passphrase* passphrase, Settled settled, const Seed& seed,
                      const std::optional<StoredTables>& tables = {});

// Where a rank's part of a checkpoint is, beside it. `save` tells one writing from another.
std::string part_path(const std::string& path, const std::string& save, int rank);

// Reads in two steps, because the head decides what the rest is read into. Any number of ranks
// reads what any number wrote: each takes its own rows.
class CheckpointReader {
 public:
  CheckpointReader(const std::string& path, const Passphrase* passphrase);

  const CheckpointHead& head() const { return head_; }
  const std::string& path() const { return file_.path(); }

  // Puts weights and histories where the trainer has them, and the trainer where the writer was.
  // Tables in files have been put where they were. Everything is verified; what throws has left
  // `trainer` unusable, but no file changed.
  void restore(Trainer& trainer);

 private:
  // Why nothing may be claimed for these steps by a run that protects this unit.
  std::string no_claim_for(const std::string& unit) const;
  void restore_rows(const TrainingState& state);

  const Passphrase* passphrase_;
  SealedReader file_;
  CheckpointHead head_;
};

}  // namespace lazydp
