#pragma once
// All that a run needs to go on exactly where it was. Secret: it holds the key and unsettled rows.

#include <string>
#include <vector>

#include "lazydp/noise/clock.h"
#include "lazydp/privacy/ledger.h"
#include "lazydp/random/seed.h"
#include "lazydp/train/json.h"
#include "lazydp/train/sealed_file.h"
#include "lazydp/train/trainer.h"

namespace lazydp {

// What comes before the weights in a checkpoint: enough to make a trainer that can take them.
struct CheckpointHead {
  Step step = 0;
  bool settled = false;  // no row is behind, and `seed` is that of the steps to come
  Json settings = {};    // of whoever wrote it; a run goes on only under equal ones
  Seed seed;
  Ledger spent = {};
  std::string no_claim = {};  // why nothing may be claimed for these steps; empty if something may
  std::string unit = {};      // what they protect, in words
  std::vector<Owed> clock = {};  // of steps 1 … step; what a settled one owes is nothing
};

// Streams a trainer's state to a file that appears whole or not at all, for its owner only. Nothing
// is settled by it. With `settled`, every row must have been: histories stay out, and `seed` is
// the one to go on with.
void write_checkpoint(const std::string& path, Trainer& trainer, const Json& settings,
                      const Lock* lock, bool settled, const Seed& seed);

// Reads in two parts, because the head decides what the rest is read into.
class CheckpointReader {
 public:
  CheckpointReader(const std::string& path, const Lock* lock);

  const CheckpointHead& head() const { return head_; }

  // Puts weights and histories where the trainer has them, and the trainer where the writer was.
  // Everything is verified; what throws has left `trainer` unusable, but no file changed.
  void restore(Trainer& trainer);

 private:
  // Why nothing may be claimed for these steps by who protects this unit.
  std::string no_claim_for(const std::string& unit) const;

  SealedReader file_;
  CheckpointHead head_;
  Json sections_;
};

}  // namespace lazydp
