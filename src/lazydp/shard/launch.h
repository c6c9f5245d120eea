#pragma once
// Joins the ranks that a launcher (mpirun, srun) started this program as, and runs ranks as threads
// of one process for tests. MPI is used only through this header.

#include <functional>
#include <memory>

#include "lazydp/shard/communicator.h"

namespace lazydp {

// Joins the other ranks; returns a rank that is alone if no launcher started more. Call it once
// in a process, before threads are started. Throws UserError if there are other ranks but this
// build has no MPI.
std::unique_ptr<Communicator> join_ranks();

// Ends this process and all other ranks with an exit code, without waiting for them; returns only
// if there are no other ranks.
void end_all_ranks(int exit_code);

// Which rank of how many this process is, by its launcher's variables, before ranks are joined.
struct Launched {
  int rank = 0;
  int size = 1;
};
Launched launched();

// Runs `body` on `ranks` threads of this process, each a rank whose own loops use `threads`
// threads: for tests, which need no launcher. Rethrows what the first failing rank throws; the
// others, which would wait for it for ever, are ended.
void run_as_ranks(int ranks, const std::function<void(Communicator&)>& body, int threads = 1);

}  // namespace lazydp
