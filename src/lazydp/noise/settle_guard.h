#pragma once
// Refuses every use of tables in which settling has failed part-way.

#include "lazydp/base/error.h"

namespace lazydp {

// A row is claimed (its history says that it is settled) before it receives its noise. If memory
// runs out in between, or anything else is thrown, rows count as settled whose noise is lost, and
// others may have been written in part: their former values are gone.
//
// Invariant: once a pass has failed, require_whole() throws for ever. Every function that reads,
// writes, saves or releases rows calls it first. A pass that succeeds costs nothing.
class SettleGuard {
 public:
  // Throws InternalError if a pass has failed.
  void require_whole() const {
    if (whole_) return;
    throw InternalError(
        "an earlier failure, for example memory that ran out, came while rows were receiving "
        "their noise: some count as settled and are not, so these tables can no longer be read, "
        "trained, saved or released; go on from the last checkpoint");
  }

  // Calls `pass`, which claims rows and settles them or writes them in another way. An exception it
  // throws reaches the caller.
  template <class Pass>
  void run(Pass&& pass) {
    require_whole();
    try {
      pass();
    } catch (...) {
      whole_ = false;
      throw;
    }
  }

 private:
  bool whole_ = true;
};

}  // namespace lazydp
