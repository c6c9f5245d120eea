#pragma once
// Ranks as threads of one process: for tests, where no launcher is needed.

#include <functional>

#include "lazydp/shard/communicator.h"

namespace lazydp {

// Runs body on `ranks` threads, each a rank whose own loops use `threads` threads. What the first
// one throws is thrown here; the others, who would wait for it for ever, are ended.
void run_as_ranks(int ranks, const std::function<void(Communicator&)>& body, int threads = 1);

}  // namespace lazydp
