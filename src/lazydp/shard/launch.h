#pragma once
// The ranks that a launcher (mpirun, srun) started this program as. The only door to MPI.

#include <functional>
#include <memory>

#include "lazydp/shard/communicator.h"

namespace lazydp {

// Joins the other ranks; null if nobody launched more than this process. Once in a process, and
// before threads are started. Throws UserError if there are others but this build cannot talk.
std::unique_ptr<Communicator> join_ranks();

// Ends this process and all other ranks with an exit code, without waiting for them; returns only
// if there are none.
void end_all_ranks(int exit_code);

// Which of how many a launcher said that this process is, before any rank is joined.
struct Launched {
  int rank = 0;
  int size = 1;
};
Launched launched();

// Ranks as threads of one process: for tests, where no launcher is needed.

// Runs body on `ranks` threads, each a rank whose own loops use `threads` threads. What the first
// one throws is thrown here; the others, who would wait for it for ever, are ended.
void run_as_ranks(int ranks, const std::function<void(Communicator&)>& body, int threads = 1);

}  // namespace lazydp
